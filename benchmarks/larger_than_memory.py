"""Embeddings larger than memory: freeze, one epoch of the linear branch, probe; memory, and time per row at two sizes.

    python -m benchmarks.larger_than_memory --rows 5000000 --folder /a/large/disk

writes n × 1,280 float32 features (25.6 GB for five million rows) and a tenth as many, runs `ftt.run` on both, each in a
process of its own, and removes them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory import peak

WIDTH, BLOCK, TARGET = 1280, 8192, 5_000
"""Columns, rows that are written at once, and rows of the target split, which is probed and does not grow."""


def write_embeddings(folder: Path, n: int) -> None:
    """Features in which column 0 tells the label and column 1 the attribute, on a decaying spectrum."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    y, a = rng.integers(0, 2, n), rng.integers(0, 2, n)
    a[:-TARGET] = np.where(rng.random(n - TARGET) < 0.9, y[:-TARGET], a[:-TARGET])
    split = np.full(n, 0)
    split[-TARGET:], split[: n // 20] = 1, 2
    pool = rng.standard_normal((4 * BLOCK, WIDTH), dtype=np.float32) * (1 / np.sqrt(1 + np.arange(WIDTH))).astype("f4")
    out = np.lib.format.open_memmap(folder / "features.npy", mode="w+", dtype=np.float32, shape=(n, WIDTH))
    for start in range(0, n, BLOCK):
        rows = slice(start, min(start + BLOCK, n))
        # Rows of a pool, each time turned by another number of columns: random numbers would take most of the time.
        first = int(rng.integers(0, 3 * BLOCK))
        block = pool[first : first + rows.stop - start].copy()
        block[:, 0] += 1.5 * y[rows]
        block[:, 1] += 2 * a[rows]
        out[rows] = block
        if start % (64 * BLOCK) == 0:
            out.flush()
    del out
    for name, values in (("y", y), ("attribute", a), ("split", split)):
        np.save(folder / f"{name}.npy", values)


def measure(folder: Path) -> dict[str, Any]:
    """One run in this process: peak memory above that of the interpreter with everything imported, and time."""
    import sklearn.linear_model  # noqa: F401
    import torch  # noqa: F401

    import ftt
    from ftt.runs import runner  # noqa: F401

    before, cpu, wall = peak(), time.process_time(), time.perf_counter()
    home = ftt.Home.from_environment(folder / "home", cache=folder / "cache")
    result = ftt.run("embeddings", path=str(folder), recipe="ftt", backbone="identity", epochs=1, home=home)
    return {
        "interpreter": before / 1e6,
        "peak": (peak() - before) / 1e6,
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "seconds": dict(result.seconds),
        "worst": result.worst_group_accuracy,
    }


def apart(folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.larger_than_memory", "--measure", str(folder)]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ}).stdout
    found: dict[str, Any] = json.loads(text.splitlines()[-1])
    return found


def fitting(folder: Path | None) -> int:
    """Five million rows where they leave a quarter of their size free on the disk, else one million."""
    free = shutil.disk_usage(folder or tempfile.gettempdir()).free
    return 5_000_000 if free > 1.25 * 5_000_000 * WIDTH * 4 else 1_000_000


def rows(quick: bool, many: int | None = None, folder: Path | None = None) -> list[dict[str, Any]]:
    """Two rows: memory at the larger size, and time per row beside a tenth of the rows."""
    many = many or (100_000 if quick else fitting(folder))
    found = {}
    for n in (many // 10, many):
        place = Path(tempfile.mkdtemp(dir=folder)) / "embeddings"
        try:
            write_embeddings(place, n)
            found[n] = apart(place)
        finally:
            shutil.rmtree(place.parent)
    small, large = found[many // 10], found[many]
    ratio = (large["cpu"] / many) / (small["cpu"] / (many // 10))
    told = f"worst group {small['worst']:.3f} and {large['worst']:.3f}; seconds {large['seconds']}"
    return [
        {
            "stage": f"embeddings {many:,}×{WIDTH}: freeze, one epoch, probe: peak memory",
            "baseline": f"2 GB above the interpreter (peak {large['peak']:.0f} MB above {large['interpreter']:.0f} MB)",
            "ratio": round(2000 / large["peak"], 2),
            "floor": 1,
            "quality": told,
        },
        {
            "stage": f"embeddings {many:,}×{WIDTH}: CPU time per row",
            "baseline": f"the same at {many // 10:,} rows",
            "ratio": round(ratio, 3),
            "floor": "<= 1.2x",
            "quality": f"{small['cpu']:.0f} s and {large['cpu']:.0f} s of CPU, {small['wall']:.0f} s and "
            f"{large['wall']:.0f} s of wall time",
        },
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--measure", type=Path)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure)))
    else:
        for row in rows(given.quick, given.rows, given.folder):
            print(json.dumps(row))
