"""ftt status: what has been run, what is running, what failed or was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ftt.cli.common import CacheFlag, DataFlag, HomeFlag, JsonFlag, print_json, print_lines, print_table

if TYPE_CHECKING:
    from ftt.store import Home


def status(
    sweep: Annotated[Path | None, typer.Argument(help="a sweep file: show its runs only, pending ones too")] = None,
    json: JsonFlag = False,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Show runs by state (done, running, failed, stopped; of a sweep also pending) and their disk use."""
    from collections import Counter

    from ftt.report.tables import TextTable
    from ftt.store import Home
    from ftt.store.index import without_collection

    kept = Home.from_environment(home, cache, data)
    with without_collection():
        states = kept.runs.states() if sweep is None else _of_sweep(sweep, kept)
    size = _bytes(str(kept.root))
    counts = Counter(row["state"] for row in states)
    if json:
        print_json({"home": str(kept.root), "bytes": size, "counts": counts, "runs": states})
        return
    if states:
        rows = [[row["run_id"], row["state"], row["dataset"], row["recipe"]] for row in states]
        print_table(TextTable("", ("run", "state", "data", "recipe"), rows, left=4))
    total = ", ".join(f"{number} {state}" for state, number in counts.items()) or "no runs yet"
    print_lines(f"{total} · {size / 1e6:.0f} MB in {kept.root}")
    if counts["stopped"]:
        print_lines("a stopped run resumes from its last checkpoint when the same command is given again")
    if counts["failed"]:
        print_lines(f"why a run failed: {kept.runs.root}/RUN/failed.json")


def _bytes(folder: str) -> int:
    """The size of all files below a folder; `scandir` asks the system far less often than `rglob`."""
    import os

    total, waiting = 0, [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.is_file():
                        total += entry.stat().st_size
        except FileNotFoundError:
            continue  # Removed meanwhile, or a home that does not exist yet.
    return total


def _of_sweep(path: Path, kept: Home) -> list[dict[str, Any]]:
    """The state of every different run of a sweep, started or not."""
    from ftt.runs.sweep_file import read
    from ftt.spec import identify

    runs = {run.id: run for run in identify(read(path).specs, kept.roots)}
    return [
        {
            "run_id": run_id,
            "state": kept.runs.state(run),
            "dataset": run.spec.data.name,
            "recipe": run.spec.recipe.name,
            "spec": run.spec.describe(),
        }
        for run_id, run in runs.items()
    ]
