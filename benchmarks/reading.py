"""Reading images: files decoded at every read, beside rows of the array that they were decoded to once."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.memory import peak
from ftt.data import Inputs, Roots
from ftt.data.decoded import image_inputs
from ftt.data.images import ImageFiles

SIDE, SIZE, BATCH = 160, 96, 128


def write_images(folder: Path, count: int) -> None:
    """JPEGs of 160×160 smooth noise: as hard to decode as photographs of that size. 500 contents, `count` files."""
    rng = np.random.default_rng(0)
    contents = []
    for _ in range(min(count, 500)):
        coarse = Image.fromarray(rng.integers(0, 256, (20, 20, 3), dtype=np.uint8))
        sink = BytesIO()
        coarse.resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(sink, "JPEG", quality=90)
        contents.append(sink.getvalue())
    for number in range(count):
        (folder / f"{number}.jpg").write_bytes(contents[number % len(contents)])


def read_all(inputs: Inputs) -> tuple[float, float]:
    """CPU and wall seconds of one epoch: every row once, in a random order, in batches."""
    order = np.random.default_rng(0).permutation(len(inputs))
    cpu, wall = time.process_time(), time.perf_counter()
    for start in range(0, len(order), BATCH):
        inputs.read(order[start : start + BATCH])
    return time.process_time() - cpu, time.perf_counter() - wall


def measure(folder: Path, cache: Path, count: int) -> dict[str, float]:
    """Epochs of `count` images in this process: ratios of CPU and wall, whether pixels agree, and peak memory in MB."""
    paths = [folder / f"{number}.jpg" for number in range(count)]
    first = read_all(image_inputs(paths, SIZE, Roots(cache, None)))
    later = [read_all(image_inputs(paths, SIZE, Roots(cache, None))) for _ in range(3)]
    cpu, wall = (statistics.median(times) for times in zip(*later, strict=True))
    files, some = ImageFiles(paths, SIZE), np.arange(0, count, 97)
    same = np.array_equal(files.read(some), image_inputs(paths, SIZE, Roots(cache, None)).read(some))
    return {
        "cpu": first[0] / cpu,
        "wall": first[1] / wall,
        "anew": read_all(files)[0] / cpu,
        "same": float(same),
        "peak": peak() / 1e6,
    }


def measure_apart(folder: Path, cache: Path, count: int) -> dict[str, float]:
    """The same in a process of its own, whose peak of memory is that of this work alone."""
    command = [sys.executable, "-m", "benchmarks.reading", str(folder), str(cache), str(count)]
    text = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ}).stdout
    return {name: float(value) for name, value in (line.split() for line in text.splitlines())}


def rows(quick: bool) -> list[dict[str, Any]]:
    """One row: the first epoch, which decodes, beside the second; and memory at two numbers of images."""
    few, many = (400, 2000) if quick else (2000, 10000)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "images"
        folder.mkdir()
        write_images(folder, many)
        small, large = (measure_apart(folder, Path(scratch) / f"cache-{n}", n) for n in (few, many))
    return [
        {
            "stage": f"reading {many:,} JPEGs again",
            "baseline": "the first time, which decodes them",
            "ratio": round(large["cpu"], 1),
            "floor": 5,
            "quality": f"wall {large['wall']:.1f}×; beside decoding anew {large['anew']:.1f}×; pixels "
            f"{'the same' if large['same'] else 'DIFFER'}; peak memory {small['peak']:.0f} MB at {few:,} images, "
            f"{large['peak']:.0f} MB at {many:,}",
        }
    ]


if __name__ == "__main__":
    if len(sys.argv) == 4:
        for name, value in measure(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])).items():
            print(name, value)
    else:
        for row in rows(quick="--quick" in sys.argv):
            print(row)
