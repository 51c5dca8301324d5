"""Extraction of features by two workers: wall time beside one, and kills at random moments, with shards counted.

python -m benchmarks.extraction --images 20000 --kills 10
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import statistics
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
from ftt.freed_memory import reuse_freed_memory
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


def start(data: Manifest, backbone: str, folder: Path, home: str, workers: int) -> subprocess.Popen[bytes]:
    """The same in a process of its own, which may be killed."""
    words = [data.path, data.image_root or "", backbone, str(folder), str(data.size), home, str(workers)]
    command = [sys.executable, "-m", "benchmarks.extraction", "--make", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def seconds_by(data: Manifest, backbone: str, folder: Path, turns: int) -> dict[int, float]:
    """Median wall time of one worker and of two, in turns, each time in a process of its own, into an empty home."""
    taken: dict[int, list[float]] = {1: [], 2: []}
    for turn in range(turns):
        for workers, times in taken.items():
            printed, _ = start(data, backbone, folder, f"by-{workers}-{turn}", workers).communicate()
            times.append(float(printed))
    return {workers: statistics.median(times) for workers, times in taken.items()}


def killed_once(
    data: Manifest, backbone: str, folder: Path, number: int, usual: float, rng: random.Random
) -> tuple[Any, int, bool]:
    """The features after one kill and a second start, how often a shard was made at most, and if it was killed."""
    home = f"killed-{number}"
    driver = start(data, backbone, folder, home, 2)
    time.sleep(rng.uniform(0.1, 0.95) * usual)
    # The driver and its workers in turn.
    victims = children(driver.pid) if number % 2 else [driver.pid]
    met = bool(victims) and driver.poll() is None
    if met:
        os.kill(rng.choice(victims), signal.SIGKILL)
    driver.wait()
    found = extract(data, backbone, folder, home, 1)
    made = Counter(record["key"] for record in Home(folder / home).artifacts.log())
    return found, max(made.values()), met


def children(pid: int) -> list[int]:
    """Processes that a process has started. Not every kernel lists them below the process itself."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # It ended meanwhile.
            parent = place.read_text().rpartition(")")[2].split()[1]
            found += [int(place.parent.name)] if int(parent) == pid else []
    return found


def rows(
    quick: bool, images: int | None = None, kills: int | None = None, backbone: str | None = None
) -> list[dict[str, Any]]:
    """Two rows: wall time of two workers, and what ten kills leave, each in a home of its own."""
    images = images or (9_000 if quick else 20_000)
    kills = (2 if quick else 10) if kills is None else kills
    backbone, size = backbone or ("tinyconv" if quick else "lite0"), 32 if quick else 64
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        data = prepare(folder, images, size)
        extract(data, "identity", folder, "decoding", 1)
        seconds = seconds_by(data, backbone, folder, 1 if quick else 3)
        one, two = (extract(data, backbone, folder, f"by-{workers}-0", 1).array() for workers in (1, 2))
        after: list[tuple[Any, int, bool]] = []
        # Before there are workers, and after the end, nobody is met.
        while sum(was for _, _, was in after) < kills and len(after) < 3 * kills:
            after.append(killed_once(data, backbone, folder, len(after), seconds[2], rng))
        survived = all(np.array_equal(one, found.array()) for found, _, _ in after)
    most, met = max((made for _, made, _ in after), default=0), sum(was for _, _, was in after)
    shards = -(-images // SHARD)
    return [
        {
            "stage": f"extracting {images:,} images with {backbone}, 2 workers (wall time)",
            "baseline": "1 worker",
            "ratio": round(seconds[2] / seconds[1], 3),
            "floor": "<= 0.6x",
            "quality": f"{seconds[1]:.0f} s and {seconds[2]:.0f} s, start of the workers included; "
            f"bits {'the same' if np.array_equal(one, two) else 'DIFFER'}; load {os.getloadavg()[0]:.1f} at the end",
        },
        {
            "stage": f"extracting {images:,} images, {kills} kills of driver and workers",
            "baseline": "no kill",
            "ratio": float(most),
            "floor": "<= 1x",
            "quality": f"{met} met a living process, in {len(after)} extractions; after a second start each of "
            f"{shards} shards made at most {most} times; bits {'the same' if survived else 'DIFFER'}",
        },
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--make", nargs=7)
    parser.add_argument("--images", type=int)
    parser.add_argument("--kills", type=int)
    parser.add_argument("--backbone")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.make:
        path, root, backbone, folder, size, home, workers = given.make
        reuse_freed_memory()
        listed = Manifest(path=path, image_root=root, size=int(size))
        begin = time.perf_counter()
        extract(listed, backbone, Path(folder), home, int(workers))
        print(time.perf_counter() - begin)
    else:
        for row in rows(given.quick, given.images, given.kills, given.backbone):
            print(json.dumps(row))
