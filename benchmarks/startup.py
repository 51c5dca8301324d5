"""How long `ftt --help` takes, beside a Python that does nothing."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Any


def seconds(command: list[str]) -> float:
    """Wall time of one process from start to end."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def rows(quick: bool) -> list[dict[str, Any]]:
    """One row: the median ratio of pairs run one after the other, so that a busy machine slows both alike."""
    empty = [sys.executable, "-c", "pass"]
    answer = [sys.executable, "-m", "ftt", "--help"]
    for command in (empty, answer):
        seconds(command)
    pairs = [(seconds(empty), seconds(answer)) for _ in range(7 if quick else 21)]
    nothing, ours = (statistics.median(side) for side in zip(*pairs, strict=True))
    return [
        {
            "stage": "ftt --help",
            "baseline": "python -c pass",
            "ratio": round(ours / nothing, 2),
            "floor": "<= 10x",
            "target": "<= 6x",
            "quality": f"{1000 * ours:.0f} ms beside {1000 * nothing:.0f} ms, medians of {len(pairs)}",
        }
    ]


if __name__ == "__main__":
    for row in rows(quick="--quick" in sys.argv):
        print(row)
