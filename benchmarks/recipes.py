"""What recipes beyond the paper cost: CPU time of whole runs, from images to a judged probe, beside one FTT run."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from ftt.runs.compose import compose
from ftt.runs.runner import run_spec
from ftt.store import Home

BEST, LEAN = "two-teachers", "target-taught"


def rows(quick: bool) -> list[dict[str, Any]]:
    """Each recipe in an empty store, in this process, one after another; the data set is unpacked before."""
    size = {"train_size": 500, "val_size": 300} if quick else {}
    given = {"dataset": "dominoes", "core_noise": 0.2, **size}
    seconds = {}
    for name in ("init", "ftt", BEST, LEAN):
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            result = run_spec(compose({**given, "recipe": name}), Home(Path(folder)))
            seconds[name] = time.process_time() - start, result.worst_group_accuracy
    ftt, kept = seconds["ftt"]
    return [
        {
            "stage": f"a run of {name} beside one of FTT",
            "baseline": "FTT, the same data and settings",
            "ratio": seconds[name][0] / ftt,
            "floor": None,
            "target": "<= 2.3x",
            "quality": f"CPU time of the whole run; worst group {seconds[name][1]:.1%} against {kept:.1%}",
        }
        for name in (BEST, LEAN)
    ]
