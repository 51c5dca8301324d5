"""PCA from streaming moments against scikit-learn, and its memory on a million rows from disk.

python -m benchmarks.harness pca [--quick]
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.decomposition import PCA

import ftt
from benchmarks.features import Features, Source
from benchmarks.memory import peak

T = TypeVar("T")
Array = NDArray[np.float64]

BATCH = 1024
GIGABYTE = 1e9


def rows(quick: bool) -> list[dict[str, object]]:
    """Time at the size of CelebA's train split; memory at a million rows in the full run."""
    n, d, k = (20_000, 1024, 256) if quick else (95_194, 2048, 512)
    timed_rows = compare(n, d, k)
    return timed_rows if quick else [*timed_rows, from_disk(1_000_000, d, k)]


def streamed(X: Features, k: int) -> tuple[Array, Array]:
    """Ours, as a run calls it: batches in, a basis of all directions out, of which the first k are kept."""
    basis = ftt.PCA().basis((X[start : start + BATCH] for start in range(0, len(X), BATCH)), X.shape[1])
    return basis.first(k).weight.T.astype(np.float64), basis.variance[:k]


def sklearn_pca(X: Features, k: int, solver: str) -> tuple[Array, Array]:
    """What a careful user writes."""
    pca = PCA(k, svd_solver=solver, random_state=0).fit(X)
    return pca.components_.astype(np.float64), pca.explained_variance_


def exact(X: Features, k: int) -> tuple[Array, Array]:
    """The same in float64 throughout: two passes, full decomposition."""
    mean = X.mean(axis=0, dtype=np.float64)
    scatter = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, len(X), 4096):
        centred = X[start : start + 4096] - mean
        scatter += centred.T @ centred
    values, vectors = eigh(scatter / (len(X) - 1))
    return vectors.T[::-1][:k], values[::-1][:k]


def compare(n: int, d: int, k: int) -> list[dict[str, object]]:
    """Ours against scikit-learn's default, and against the solver a user who knows the sizes would pick."""
    X = np.concatenate(list(Source.make(d).batches(n, 8192)))
    truth = exact(X, k)
    fast, ours = timed(partial(streamed, X, k))
    found = []
    for solver in ("auto", "covariance_eigh", "full"):
        slow, theirs = timed(partial(sklearn_pca, X, k, solver), runs=1 if solver == "full" else 3)
        found.append((solver, slow, quality(theirs, truth)))
    return [
        {
            "stage": f"PCA {n:,}×{d} → {k}",
            "baseline": f"sklearn PCA {solver}, {slow:.2f} s (ours {fast:.2f} s)",
            "ratio": slow / fast,
            "floor": 4.0 if solver == "auto" else None,
            "target": 6.0 if solver == "auto" else None,
            "quality": f"{quality(ours, truth)}; sklearn: {theirs_quality}",
        }
        for solver, slow, theirs_quality in found
    ]


def quality(found: tuple[Array, Array], truth: tuple[Array, Array]) -> str:
    """Smallest cosine between the subspaces, and largest relative error of a variance."""
    cosine = float(np.linalg.svd(found[0] @ truth[0].T, compute_uv=False).min())
    error = float(np.abs(found[1] / truth[1] - 1).max())
    return f"min cosine {cosine:.6f}, variances within {100 * error:.2g} %"


def timed(work: Callable[[], T], runs: int = 3) -> tuple[float, T]:
    """Median CPU seconds of some runs, and the result."""
    seconds = []
    for _ in range(runs):
        before = time.process_time()
        result = work()
        seconds.append(time.process_time() - before)
    return statistics.median(seconds), result


def from_disk(n: int, d: int, k: int) -> dict[str, object]:
    """Peak memory of a process that freezes n rows from a file, above the interpreter with its imports."""
    need = n * d * 4 + 2**30
    stage = f"PCA {n:,}×{d} float32 from disk: peak memory"
    folder = Path(tempfile.mkdtemp(prefix="ftt-bench-"))
    try:
        if shutil.disk_usage(folder).free < need:
            return {"stage": stage, "baseline": "1 GB", "ratio": None, "floor": 1.0, "target": None,
                    "quality": f"not measured: {need / GIGABYTE:.0f} GB of disk needed"}  # fmt: skip
        _write(folder / "features.npy", n, d)
        run = subprocess.run(
            [sys.executable, "-m", "benchmarks.pca", str(folder / "features.npy"), str(k)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    finally:
        shutil.rmtree(folder)
    before, peak, seconds, kept = (float(word) for word in run.stdout.split())
    return {
        "stage": stage,
        "baseline": f"1 GB above the interpreter (peak {(peak - before) / 1e6:.0f} MB above its {before / 1e6:.0f} MB)",
        "ratio": GIGABYTE / (peak - before),
        "floor": 1.0,
        "target": None,
        "quality": f"{seconds:.0f} s CPU; the {k} directions keep {100 * kept:.1f} % of the variance",
    }


def _write(path: Path, n: int, d: int) -> None:
    """Rows on disk; a drawn batch is written many times over, each time scaled a little differently."""
    target = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, d))
    batch = next(Source.make(d).batches(16_384, 16_384))
    for turn, start in enumerate(range(0, n, len(batch))):
        target[start : start + len(batch)] = batch[: n - start] * np.float32(1 + turn / 1000)
    target.flush()


def _freeze_file(path: str, k: int) -> None:
    """The measured process: memory before, at the peak, CPU seconds, share of variance kept."""
    before, clock = peak(), time.process_time()
    n, d = np.load(path, mmap_mode="r").shape
    # Opened anew for each batch: pages of a mapping that stays open count as memory of the process.
    batches = (np.load(path, mmap_mode="r")[start : start + BATCH] for start in range(0, n, BATCH))
    kept = ftt.PCA().basis(batches, d).first(k).explained
    print(before, peak(), time.process_time() - clock, kept)


if __name__ == "__main__":
    _freeze_file(sys.argv[1], int(sys.argv[2]))
