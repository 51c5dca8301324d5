"""Features extracted shard by shard, by whoever: the same bits, each shard once, resumed after any death."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ftt.arrays import Float32Array
from ftt.backbones import create, extract
from ftt.data import Roots
from ftt.data.embeddings import Embeddings
from ftt.data.manifest import Manifest
from ftt.errors import FttError
from ftt.launch import Resources, extraction
from ftt.launch.extraction import extract_features
from ftt.rows import BLOCK
from ftt.store import Home
from ftt.store.artifacts import SHARD

N = BLOCK + 12 * SHARD + 100
IMAGES = BLOCK + 4 * SHARD + 100
KILLS = 10 if os.environ.get("FTT_FAULTS") == "long" else 2
ONE = Resources(workers=1, threads=1)
BACKBONE = "mlp"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    """More rows than one file holds, in the training split."""
    folder, rng = tmp_path_factory.mktemp("embeddings"), np.random.default_rng(0)
    n = N + 80
    np.save(folder / "features.npy", rng.standard_normal((n, 24), dtype=np.float32))
    np.save(folder / "y.npy", np.arange(n) % 2)
    np.save(folder / "attribute.npy", np.arange(n) // 2 % 2)
    np.save(folder / "split.npy", np.repeat([0, 1, 2], [N, 40, 40]))
    return Embeddings(path=str(folder))


@pytest.fixture(scope="module")
def expected(data: Embeddings) -> Float32Array:
    inputs = data.load(Roots.from_environment())["train"].inputs
    return extract(create(BACKBONE, inputs), inputs, "train").array()


def made_once(home: Home, n: int = N) -> None:
    """Every shard is there and was made once; one killed between writing and logging is there without a line."""
    counts = Counter(record["key"] for record in home.artifacts.log())
    assert max(counts.values()) == 1, counts
    assert len(list((home.root / "artifacts" / "features").rglob("*.safetensors"))) == -(-n // SHARD)


def test_shards_of_one_process_have_the_bits_of_one_pass(
    data: Embeddings, expected: Float32Array, tmp_path: Path
) -> None:
    found = extract_features(data, BACKBONE, Home(tmp_path), resources=ONE)
    np.testing.assert_array_equal(found.array(), expected)
    made_once(Home(tmp_path))


def test_a_program_helps_and_one_that_dies_leaves_nothing_undone(
    data: Embeddings, expected: Float32Array, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "can_be_copied", lambda threads: False)
    for name, executable in (("living", sys.executable), ("dead", shutil.which("false"))):
        monkeypatch.setattr(sys, "executable", executable)
        home = Home(tmp_path / name)
        found = extract_features(data, BACKBONE, home, resources=Resources(workers=2, threads=1))
        np.testing.assert_array_equal(found.array(), expected)
        made_once(home)


def test_wrong_calls_are_told(data: Embeddings, tmp_path: Path) -> None:
    with pytest.raises(FttError, match="did you mean 'local'"):
        extract_features(data, BACKBONE, Home(tmp_path), on="locale")
    with pytest.raises(FttError, match="did you mean 'train'"):
        extract_features(data, BACKBONE, Home(tmp_path), split="trian")


DRIVER = """
import sys
from pathlib import Path
from ftt.data import Roots
from ftt.data.manifest import Manifest
from ftt.launch import Resources
from ftt.launch.extraction import extract_features
from ftt.store import Home
data = Manifest(path=sys.argv[1], size=16)
extract_features(data, "tinyconv", Home(Path(sys.argv[2]), Roots(Path(sys.argv[3]), None)), resources=Resources(2, 1))
"""


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """A list of small images: a few hundred contents, so that no shard is like another, under many names."""
    folder, rng = tmp_path_factory.mktemp("images"), np.random.default_rng(0)
    contents = [folder / f"{n}.png" for n in range(499)]
    for path in contents:
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(path)
    splits = ["train"] * IMAGES + ["val", "test"] * 40
    for n in range(len(contents), len(splits)):
        os.link(contents[n % len(contents)], folder / f"{n}.png")
    lines = [f"{n}.png,{n % 2},{n // 2 % 2},{split}" for n, split in enumerate(splits)]
    (folder / "list.csv").write_text("\n".join(["path,y,attribute,split", *lines]) + "\n")
    return Manifest(path=str(folder / "list.csv"), size=16)


def children(pid: int) -> list[int]:
    """Processes that a process has started. Not every kernel lists them below the process itself."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # It ended meanwhile.
            parents[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
    return [process for process, parent in parents.items() if parent == pid]


def kill_one(home: Home, data: Manifest, whom: str, moments: random.Random) -> bool:
    """Extract with two workers and kill the driver or a worker at a random moment; whether it was still at work."""
    command: list[Any] = [sys.executable, "-c", DRIVER, data.path, home.root, home.roots.cache]
    driver = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
    before, end = set(home.root.rglob("*")), time.monotonic() + 300
    while not set(home.root.rglob("*.lock")) - before and driver.poll() is None:
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.005)
    time.sleep(moments.uniform(0, 0.2))
    victims = [driver.pid] if whom == "driver" else children(driver.pid)
    met = driver.poll() is None and bool(victims)
    if met:
        os.kill(moments.choice(victims), signal.SIGKILL)
    # A driver gets over the death of its workers.
    assert driver.wait(300) == (-signal.SIGKILL if met and whom == "driver" else 0)
    return met


@pytest.mark.slow
def test_kills_of_driver_and_workers_leave_every_shard_made_once(images: Manifest, tmp_path: Path) -> None:
    roots, moments, met = Roots(tmp_path / "cache", None), random.Random(0), Counter[str]()
    inputs = images.load(roots)["train"].inputs
    expected = extract(create("tinyconv", inputs), inputs, "train").array()
    # After a kill little is left to be done, which would be over before the next one: each has a home of its own.
    for attempt in range(4 * KILLS):
        home, whom = Home(tmp_path / str(attempt), roots), ("driver", "worker")[attempt % 2]
        met[whom] += kill_one(home, images, whom, moments)
        found = extract_features(images, "tinyconv", home, resources=ONE)
        np.testing.assert_array_equal(found.array(), expected)
        made_once(home, IMAGES)
        shutil.rmtree(home.root)
        if met.total() >= KILLS and met["driver"] > 0 < met["worker"]:
            break
    sys.stdout.write(f"\nkills that met a living process: {dict(met)}, {attempt + 1} extractions\n")
    assert met.total() >= KILLS
    assert met["driver"] > 0 < met["worker"]
