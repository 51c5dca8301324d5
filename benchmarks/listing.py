"""A store of ten thousand finished runs: how long `ftt status` and `ftt results` take, imports included."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ftt.runs.compose import compose
from ftt.runs.runner import run_spec
from ftt.store import Home, RunStore
from ftt.store.checked_json import CHECKSUM
from ftt.store.index import stamp_of, summary

SECONDS = 2.0


def fill(home: Home, count: int) -> None:
    """Copies of one real result under other keys, with the lines of the index that finished runs leave."""
    from ftt.params import digest

    content: dict[str, Any] = run_spec(compose({"dataset": "digits", "recipe": "init"}), home).to_json()
    store = RunStore(home.root / "runs")
    for number in range(count):
        key = digest("listing", number)
        own = {**content, "key": key, "run_id": key[:16], "spec": {**content["spec"], "seed": number}}
        folder = store.root / key[:16]
        folder.mkdir()
        (folder / "result.json").write_text(json.dumps({**own, CHECKSUM: digest(own)}, indent=2, sort_keys=True))
        (folder / "spec.json").write_text(json.dumps({"key": key, "recipe": "init", "spec": own["spec"]}))
        if (stamp := stamp_of(folder / "result.json")) is not None:
            store._index.add(key[:16], stamp, summary(own))


def cpu_seconds(*command: str) -> float:
    """CPU time of `ftt` with these arguments, in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "ftt", *command], check=True, stdout=subprocess.DEVNULL, env={**os.environ})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows(quick: bool) -> list[dict[str, Any]]:
    """One row per command, and what the first listing of a store without an index costs."""
    count = 1000 if quick else 10_000
    with tempfile.TemporaryDirectory() as scratch:
        home = Home(Path(scratch))
        fill(home, count)
        taken = {name: cpu_seconds(name, "--home", scratch) for name in ("status", "results")}
        (home.root / "runs" / "index.jsonl").unlink()
        cold = cpu_seconds("results", "--home", scratch)
    return [
        {
            "stage": f"ftt {name}, {count:,} finished runs",
            "baseline": f"{SECONDS:g} s (took {seconds:.2f} s CPU)",
            "ratio": round(SECONDS / seconds, 2),
            "floor": 1,
            "quality": f"imports included; without an index, once, {cold:.1f} s",
        }
        for name, seconds in taken.items()
    ]


if __name__ == "__main__":
    for row in rows(quick="--quick" in sys.argv):
        print(row)
