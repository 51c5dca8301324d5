"""`ftt predict` on many rows: its rate beside plain extraction of the same files, and whether memory stays flat.

Each arm runs in a process of its own, which keeps freed memory as those of the command line do, and measures the CPU
time of the work and the peak memory of the process. A small network on small images is the hard case: the larger the
network, the less everything else weighs.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from benchmarks.memory import peak

SIZE = 32
DIMENSIONS = 64
REPEATS = 7


class Measured(NamedTuple):
    """CPU seconds of the work, and peak memory of the process in bytes."""

    seconds: float
    memory: float


def rows(quick: bool) -> list[dict[str, Any]]:
    """20,000 images and a tenth of them; 1,000,000 rows of features and a tenth of them."""
    images, features = (2_000, 100_000) if quick else (20_000, 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        return [_images(Path(folder), images), _features(Path(folder), features)]


def _images(folder: Path, count: int) -> dict[str, Any]:
    model = _image_model(folder)
    many, few = (_draw(folder / str(number), number) for number in (count, count // 10))
    pairs = [(_apart("extract", model, many), _apart("predict", model, many)) for _ in range(REPEATS)]
    ratios, ours, small = [p.seconds / o.seconds for p, o in pairs], pairs[-1][1], _apart("predict", model, few)
    return {
        "stage": f"predict, {count:,} images",
        "baseline": "plain extraction",
        "ratio": statistics.median(ratios),
        "floor": 0.9,
        "target": 0.95,
        "quality": (
            f"tinyconv, {SIZE} px; ratios {min(ratios):.2f} to {max(ratios):.2f} in {REPEATS} pairs of processes; "
            f"peak memory {small.memory / 1e6:.0f} MB for {count // 10:,} and {ours.memory / 1e6:.0f} MB for {count:,}"
        ),
    }


def _features(folder: Path, count: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    model = _feature_model(folder)
    found = []
    for number in (count // 10, count):
        path = folder / f"{number}.npz"
        np.savez(path, features=rng.standard_normal((number, DIMENSIONS), dtype=np.float32))
        found.append(_apart("predict", model, path))
        path.unlink()
    return {
        "stage": f"predict memory, {count:,} rows",
        "baseline": f"{count // 10:,} rows",
        "ratio": found[1].memory / found[0].memory,
        "floor": "<= 1.1x",
        "target": "<= 1.05x",
        "quality": (
            f"{DIMENSIONS} features; peak {found[0].memory / 1e6:.0f} MB and {found[1].memory / 1e6:.0f} MB; "
            f"{count / found[1].seconds:,.0f} rows/s with CSV, in processes of their own"
        ),
    }


def _draw(folder: Path, count: int) -> Path:
    """Many files of a hundred different images; links, so that drawing takes no time."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for number in range(count):
        path, first = folder / f"{number:05}.png", folder / f"{number % 100:05}.png"
        if number < 100:
            Image.fromarray(rng.integers(0, 255, (48, 40, 3)).astype(np.uint8)).save(path)
        else:
            os.link(first, path)
    return folder


def _image_model(folder: Path) -> Path:
    from ftt.data import ArrayInputs

    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (90, SIZE, SIZE, 3)).astype(np.uint8)
    return _model(ArrayInputs(images, "images"), "tinyconv", folder / "images-model")


def _feature_model(folder: Path) -> Path:
    from ftt.data import ArrayInputs

    X = np.random.default_rng(0).standard_normal((90, DIMENSIONS)).astype(np.float32)
    return _model(ArrayInputs(X, "features"), "identity", folder / "features-model")


def _model(inputs: Any, backbone: str, folder: Path) -> Path:
    """A model that predicts something; what, does not matter here."""
    import ftt
    from ftt.data import DatasetInfo, GroupedData

    y, a, split = np.arange(90) % 2, np.arange(90) // 2 % 2, np.repeat(["train", "val", "test"], 30)
    info = DatasetInfo("bench", ("no", "yes"), ("left", "right"), "random")
    data = GroupedData(inputs, y, a, split, info)
    features, target = ftt.fit(data, "init", backbone), data["val"]
    probe = ftt.DFRProbe(averages=1, repeats=1).fit(features.transform(target), target.y, attribute=target.a)
    return ftt.Model.of(features, probe, data).save(folder)


def _apart(arm: str, model: Path, source: Path) -> Measured:
    command = [sys.executable, "-m", "benchmarks.predicting", arm, str(model), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Measured(*json.loads(done.stdout))


def measure(arm: str, model: Path, source: Path) -> Measured:
    """One arm in this process."""
    from ftt.backbones.extract import batches
    from ftt.data.images import ImageFiles
    from ftt.freed_memory import reuse_freed_memory
    from ftt.model import Model
    from ftt.model.predicting import write
    from ftt.model.reading import Source

    reuse_freed_memory()
    loaded = Model.load(model)
    start = time.process_time()
    if arm == "predict":
        write(loaded, Source(source), "csv", source.with_suffix(".csv"))
    else:
        files = ImageFiles(sorted(source.iterdir()), SIZE)
        for _ in batches(loaded.features.backbone, files, "files"):
            pass
    return Measured(time.process_time() - start, peak())


if __name__ == "__main__":
    from ftt.threads import limited_to

    with limited_to(1):
        print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))))
