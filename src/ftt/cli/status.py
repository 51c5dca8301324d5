"""ftt status: what has been run, what is running, what failed or was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ftt.cli.common import HomeFlag, JsonFlag, print_json


def status(
    sweep: Annotated[Path | None, typer.Argument(help="a sweep's file: only its runs, pending ones too")] = None,
    json: JsonFlag = False,
    home: HomeFlag = None,
) -> None:
    """Show runs by state (done, running, failed, stopped; of a sweep also pending) and the room they take."""
    from collections import Counter

    from ftt.store import Home

    kept = Home.from_environment(home)
    states = kept.runs.states() if sweep is None else _of_sweep(sweep, kept)
    files = [path for path in kept.root.rglob("*") if path.is_file()] if kept.root.is_dir() else []
    size = sum(path.stat().st_size for path in files)
    counts = Counter(row["state"] for row in states)
    if json:
        print_json({"home": str(kept.root), "bytes": size, "counts": counts, "runs": states})
        return
    from rich.console import Console

    from ftt.report.tables import plain_table

    console = Console()
    rows = [[row["run_id"], row["state"], row["spec"]["data"]["name"], _recipe(row["spec"])] for row in states]
    if rows:
        console.print(plain_table("", ("run", "state", "data", "recipe"), rows, left=4))
    total = ", ".join(f"{number} {state}" for state, number in counts.items()) or "no runs yet"
    console.print(f"{total} · {size / 1e6:.0f} MB in {kept.root}", highlight=False, soft_wrap=True)
    if counts["stopped"]:
        console.print("a stopped run goes on from its last checkpoint when the same command is given again")
    if counts["failed"]:
        console.print(f"why a run failed: {kept.runs.root}/RUN/failed.json", highlight=False, soft_wrap=True)


def _of_sweep(path: Path, kept: Any) -> list[dict[str, Any]]:
    """The state of every different run of a sweep, begun or not."""
    from ftt.experiments.sweep import read

    specs = {spec.run_id: spec for spec in read(path).specs}
    return [
        {"run_id": run_id, "state": kept.runs.state(spec), "spec": spec.describe()} for run_id, spec in specs.items()
    ]


def _recipe(spec: dict[str, dict[str, object]]) -> str:
    parts = [str(part["name"]) for part in (spec["freeze"], spec["method"]) if part]
    return " + ".join(parts) or "init"
