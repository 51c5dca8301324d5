"""Extraction of features by two workers: wall time beside one, and kills at random moments, with shards counted.

python -m benchmarks.extraction --images 20000 --kills 10
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reading import write_images
from ftt.data.manifest import Manifest
from ftt.launch import Resources
from ftt.launch.extraction import extract_features
from ftt.store import Home
from ftt.store.artifacts import SHARD

HELD_OUT = 200


def prepare(folder: Path, count: int, size: int) -> Manifest:
    """A list of JPEG files, nearly all of them in the training split."""
    (folder / "images").mkdir()
    write_images(folder / "images", count + HELD_OUT)
    splits = ["train"] * count + ["val", "test"] * (HELD_OUT // 2)
    lines = [f"{n}.jpg,{n % 2},{n // 2 % 2},{split}" for n, split in enumerate(splits)]
    (folder / "list.csv").write_text("\n".join(["path,y,attribute,split", *lines]) + "\n")
    return Manifest(path=str(folder / "list.csv"), image_root=str(folder / "images"), size=size)


def extract(data: Manifest, backbone: str, folder: Path, home: str, workers: int) -> Any:
    """Features of the training split, into a home of its own; decoded images are shared by all homes."""
    from ftt.data import Roots

    place = Home(folder / home, Roots(folder / "cache", None))
    return extract_features(data, backbone, place, resources=Resources(workers, 1))


def with_kills(data: Manifest, backbone: str, folder: Path, kills: int, usual: float) -> tuple[Any, Counter[str], int]:
    """The features, how often each shard was made, and the number of kills that met a living process."""
    rng, met = random.Random(0), 0
    command = [sys.executable, "-m", "benchmarks.extraction", "--make", data.path, data.image_root or "", backbone]
    for number in range(kills):
        driver = subprocess.Popen([*command, str(folder), str(data.size)], env={**os.environ})
        time.sleep(rng.uniform(0.1, 0.9) * usual)
        # The driver and its workers in turn.
        victims = _children(driver.pid) if number % 2 else [driver.pid]
        if victims and driver.poll() is None:
            os.kill(rng.choice(victims), signal.SIGKILL)
            met += 1
        driver.wait()
    found = extract(data, backbone, folder, "killed", 1)
    log = Home(folder / "killed").artifacts.log()
    return found, Counter(record["key"] for record in log), met


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def rows(
    quick: bool, images: int | None = None, kills: int | None = None, backbone: str | None = None
) -> list[dict[str, Any]]:
    """Two rows: wall time of two workers, and what ten kills leave."""
    images = images or (9_000 if quick else 20_000)
    kills = (2 if quick else 10) if kills is None else kills
    backbone, size = backbone or ("tinyconv" if quick else "lite0"), 32 if quick else 64
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        data = prepare(folder, images, size)
        extract(data, "identity", folder, "decoding", 1)
        seconds, found = {}, {}
        for workers in (1, 2):
            start = time.perf_counter()
            found[workers] = extract(data, backbone, folder, f"by-{workers}", workers)
            seconds[workers] = time.perf_counter() - start
        same = np.array_equal(found[1].array(), found[2].array())
        after, counts, met = with_kills(data, backbone, folder, kills, seconds[2])
        survived = np.array_equal(found[1].array(), after.array())
    shards = -(-images // SHARD)
    return [
        {
            "stage": f"extracting {images:,} images with {backbone}, 2 workers (wall time)",
            "baseline": "1 worker",
            "ratio": round(seconds[2] / seconds[1], 3),
            "floor": "<= 0.6x",
            "quality": f"{seconds[1]:.0f} s and {seconds[2]:.0f} s; bits {'the same' if same else 'DIFFER'}; "
            f"load {os.getloadavg()[0]:.1f} at the end",
        },
        {
            "stage": f"extracting {images:,} images, {kills} kills of driver and workers",
            "baseline": "no kill",
            "ratio": float(max(counts.values(), default=0)),
            "floor": "<= 1x",
            "quality": f"{met} of {kills} met a living process; {shards} shards, each made at most "
            f"{max(counts.values(), default=0)} times; bits {'the same' if survived else 'DIFFER'}",
        },
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--make", nargs=5)
    parser.add_argument("--images", type=int)
    parser.add_argument("--kills", type=int)
    parser.add_argument("--backbone")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.make:
        path, root, backbone, folder, size = given.make
        listed = Manifest(path=path, image_root=root, size=int(size))
        extract(listed, backbone, Path(folder), "killed", 2)
    else:
        for row in rows(given.quick, given.images, given.kills, given.backbone):
            print(json.dumps(row))
