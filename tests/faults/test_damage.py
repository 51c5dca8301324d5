"""Damage to any file that is read back is noticed: flipped bits and cuts at random places, counted by kind."""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ftt import checked
from ftt.data import checksums
from ftt.data.checksums import Checksums
from ftt.data.decoded import image_inputs
from ftt.data.folders import find_images
from ftt.data.roots import Roots
from ftt.errors import FttError
from ftt.progress import shown_on
from ftt.runs.runner import run_spec
from ftt.store import artifacts
from ftt.store.checked_json import read_checked
from ftt.store.verify import verify
from ftt.train import saved
from ftt.train.checkpoint import CheckpointFile, Position, Snapshot
from tests.faults.scene import contents, home_of, save_one, spec_of, write_images
from tests.heard import Heard

LONG = os.environ.get("FTT_FAULTS") == "long"
TIMES = 200 if LONG else 12

Reader = Callable[[], Any]
"""What a file holds, as the library reads it; None or an error where it refuses it."""


class Furnished:
    """A folder with a file of every kind, and how each is read."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, home_of(folder)
        self.images = write_images(folder / "images")
        self.spec = spec_of(self.images)
        self.run = run_spec(self.spec, self.home).run
        self.inputs = [self.images / name for name in find_images(self.images)]
        self.checkpoint = CheckpointFile(folder / "home" / "checkpoints" / "x")
        for step in (1, 2):
            tensors = {"network.head": torch.full((3, 4), float(step)), "optimizer.0.step": torch.tensor(float(step))}
            self.checkpoint.save(Snapshot(tensors, Position(step=step, log=[{"loss": 0.1}])))
        save_one(folder, 0.25)
        arrays: checked.Arrays = {"train_images": np.arange(64, dtype=np.uint8), "train_labels": np.arange(8)}
        checked.write(self.home.roots.cache / "mnist" / "arrays.safetensors", arrays)
        self._remember()

    def kinds(self) -> dict[str, tuple[Path, Reader]]:
        home, cache = self.home, self.home.roots.cache
        artifact, runs = next(home.artifacts.root.glob("features/*/*.safetensors")), home.runs.folder(self.run)
        trained = next(home.artifacts.root.glob("trained/*/*.safetensors"))
        decoded, memory = next(cache.glob("decoded/*")), next(cache.glob("checksums/*"))
        model, arrays = self.folder / "model", cache / "mnist" / "arrays.safetensors"
        return {
            "artifact (features)": (artifact, lambda: _plain(artifacts.read(artifact))),
            "artifact (trained)": (trained, lambda: _plain(artifacts.read(trained))),
            "result": (runs / "result.json", lambda: _json(home.runs.find(self.run))),
            "spec": (runs / "spec.json", lambda: read_checked(runs / "spec.json")),
            "checkpoint": (self.checkpoint.last, self._last_step),
            "saved model, weights": (model / saved.WEIGHTS, lambda: _plain(saved.read(model))),
            "saved model, config": (model / saved.CONFIG, lambda: _plain(saved.read(model))),
            "decoded images, pixels": (decoded / "images.npy", self._pixels),
            "decoded images, notes": (decoded / "notes.safetensors", self._pixels),
            "unpacked arrays": (arrays, lambda: _plain(checked.read(arrays, "mnist"))),
            "checksums": (memory, lambda: checksums._recall(memory)),
        }

    def _last_step(self) -> Any:
        """The last snapshot; the one before it is what a damaged one is replaced by."""
        snapshot = self.checkpoint.load()
        assert snapshot is not None, "the one before is used"
        return {name: value.tolist() for name, value in snapshot.tensors.items()}, vars(snapshot.position)

    def _pixels(self) -> Any:
        return image_inputs(self.inputs, 16, self.home.roots).read(np.arange(len(self.inputs))).tobytes()

    def _remember(self) -> None:
        # Files that changed a moment ago are not remembered.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checksums, "SETTLED_NS", -1)
            Checksums(Roots(self.home.roots.cache, None)).of(self.images, map(str, find_images(self.images)[:3]))


def _plain(found: Any) -> Any:
    """Arrays in a form that can be compared."""
    if found is None:
        return None
    one, other = (found.arrays, found.notes) if hasattr(found, "arrays") else found
    arrays, notes = (one, other) if all(isinstance(value, np.ndarray) for value in one.values()) else (other, one)
    return checked.digest_of(arrays, ""), notes


def _json(found: Any) -> Any:
    return None if found is None else found.to_json()


def damaged(content: bytes, moments: random.Random, how: str) -> bytes:
    place = moments.randrange(len(content))
    if how == "cut":
        return content[:place]
    return content[:place] + bytes([content[place] ^ (1 << moments.randrange(8))]) + content[place + 1 :]


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Furnished:
    return Furnished(tmp_path_factory.mktemp("furnished"))


@pytest.mark.slow
def test_every_flipped_bit_and_every_cut_is_noticed(furnished: Furnished) -> None:
    counts: dict[str, Counter[str]] = {}
    for kind, (path, read) in furnished.kinds().items():
        whole, wanted = path.read_bytes(), read()
        assert wanted, f"{kind} cannot be read before it is damaged"
        counts[kind], moments = Counter(), random.Random(kind)
        for number in range(TIMES):
            how = ("flip", "cut")[number % 2]
            path.write_bytes(damaged(whole, moments, how))
            heard = Heard()
            try:
                with shown_on(heard):
                    found = read()
                said = any("damaged" in line for line in heard.said)
                # A damaged file may be replaced by what was damaged, never by something else, and never silently.
                outcome = "detected" if said else "harmless" if found == wanted else "SILENT"
            except (checked.DamagedError, FttError):
                outcome = "detected"
            counts[kind][f"{how}: {outcome}"] += 1
            path.write_bytes(whole)
    for kind, outcomes in counts.items():
        sys.stdout.write(f"\n{kind}: {dict(outcomes)}")
    assert not any("SILENT" in outcome for outcomes in counts.values() for outcome in outcomes)
    harmless = sum(n for outcomes in counts.values() for name, n in outcomes.items() if "harmless" in name)
    assert harmless <= 0.01 * TIMES * len(counts), "nearly every change of a file changes what it says"


@pytest.mark.slow
def test_a_damaged_store_is_counted_repaired_and_made_again(furnished: Furnished) -> None:
    home, moments = furnished.home, random.Random(0)
    wanted = contents(furnished.folder)
    assert verify(home).damage == []
    files = [path for kind, (path, _) in furnished.kinds().items() if "model" not in kind]
    for path in files:
        path.write_bytes(damaged(path.read_bytes(), moments, "cut"))
    found = verify(home)
    assert {damage.path.name for damage in found.damage} >= {path.name for path in files} - {"images.npy"}
    assert {kind for kind, number in found.by_kind().items() if number} == found.files.keys()
    verify(home, repair=True)
    assert verify(home).damage == []
    run_spec(furnished.spec, home)
    assert contents(furnished.folder) == wanted
