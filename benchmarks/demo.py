"""The demo's four trainings at full size: wall time of this tree's `ftt demo --full` beside that of an older tree.

Faster steps and two trainings at a time, as a user meets them; the older tree trains one after another on all cores.
Both arms start with an empty store and the data set unpacked. Wall time: run it where nothing else runs.

python -m benchmarks.harness demo
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BEFORE = "225a564"
"""The last commit before trainings were made faster and run side by side."""


def rows(quick: bool) -> list[dict[str, Any]]:
    """One row. The limit is for two cores.

    When quick, digits in place of Dominoes, which only shows that both arms run: this tree's demo of digits trains with
    five seeds, the older one with one.
    """
    dataset = "digits" if quick else "dominoes"
    limit: dict[str, Any] = {"floor": None, "target": "<= 0.45x"}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        older = _checked_out(folder / "before")
        if older is None:
            missing = f"not measured: commit {BEFORE} is not in this copy of the repository"
            return [{"stage": "demo", "baseline": BEFORE, "ratio": None, **limit, "quality": missing}]
        now = _demo(ROOT / "src", folder / "now-home", dataset, "--full")
        before = _demo(older / "src", folder / "before-home", dataset)
    return [
        {
            "stage": f"demo, four trainings of {dataset} (wall time)",
            "baseline": f"commit {BEFORE}",
            "ratio": now[0] / before[0],
            **limit,
            "quality": f"{before[0]:.0f} s and {now[0]:.0f} s on {os.cpu_count()} cores; "
            f"worst groups {before[1]} before and {now[1]} now",
        }
    ]


def _checked_out(folder: Path) -> Path | None:
    folder.mkdir()
    packed = subprocess.run(["git", "-C", str(ROOT), "archive", BEFORE, "src"], capture_output=True)
    if packed.returncode:
        return None
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed.stdout, check=True)
    return folder


def _demo(source: Path, home: Path, dataset: str, *flags: str) -> tuple[float, str]:
    """Seconds, and the accuracies of the rows in the order of the table."""
    command = [sys.executable, "-m", "ftt", "demo", "--dataset", dataset, "--home", str(home), *flags]
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    start = time.perf_counter()
    subprocess.run(command, env={**environment, "PYTHONPATH": str(source)}, capture_output=True, check=True)
    seconds = time.perf_counter() - start
    found = json.loads((home / "demo" / dataset / "results.json").read_text())
    return seconds, ", ".join(f"{100 * result['worst_group_accuracy']:.1f}" for result in found)
