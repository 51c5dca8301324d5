"""Two workers with one thread each beside one: the wall time of eight equal runs.

The only benchmark that measures wall time: what workers save is waiting, not work. Anything else that runs on the
machine takes from the second core first, so the load is told beside the ratio.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ftt import threads
from ftt.data.digits import Digits
from ftt.launch import Resources, launch
from ftt.methods.erm import ERM
from ftt.recipe import Recipe
from ftt.spec import Spec, Training
from ftt.store import Home


def specs(count: int, epochs: int) -> list[Spec]:
    """Runs that cost the same: they differ in their seed."""
    training = Training(epochs=epochs, batch_size=64)
    return [
        Spec(data=Digits(), backbone="tinyconv", recipe=Recipe(None, ERM()), train=training, seed=seed)
        for seed in range(count)
    ]


def seconds(runs: list[Spec], workers: int, folder: Path) -> tuple[float, float]:
    """Wall and CPU time of a sweep in an empty home, start of the workers included."""
    start, before = time.perf_counter(), os.times()
    resources = Resources(workers=workers, threads=1)
    outcomes = launch(runs, Home(folder / str(workers)), resources=resources)
    if failed := [outcome.error for outcome in outcomes if outcome.error]:
        raise RuntimeError(failed[0])
    after = os.times()
    # User and system time of this process and of its children that have ended.
    return time.perf_counter() - start, sum(after[:4]) - sum(before[:4])


def rows(quick: bool) -> list[dict[str, Any]]:
    """One row: how much of the time of one worker two of them need."""
    # Long enough that the start of the workers (seconds, once) does not hide what is asked; real runs take minutes.
    runs = specs(2, 10) if quick else specs(8, 150)
    with tempfile.TemporaryDirectory() as name:
        # Imports and the first touch of every code path belong to neither arm.
        seconds(specs(1, 1), 1, Path(name) / "before")
        alone, worked_alone = seconds(runs, 1, Path(name))
        together, worked_together = seconds(runs, 2, Path(name))
    told = (
        f"{len(runs)} runs of {worked_alone / len(runs):.1f} s: {alone:.0f} s alone ({worked_alone:.0f} s of CPU), "
        f"{together:.0f} s by two ({worked_together:.0f} s of CPU)"
    )
    return [
        {
            "stage": "sweep, 2 workers × 1 thread (wall time)",
            "baseline": "1 worker × 1 thread",
            "ratio": round(together / alone, 2),
            "floor": "<= 0.6x",
            "target": "<= 0.55x",
            "quality": f"{told}; {threads.available()} cores, load {os.getloadavg()[0]:.1f} at the end",
        }
    ]


if __name__ == "__main__":
    for row in rows(quick="--quick" in sys.argv):
        print(row)
