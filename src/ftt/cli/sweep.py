"""ftt sweep: every run of a file, on this machine or on a Ray cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ftt.cli.common import CacheFlag, DataFlag, HomeFlag, JsonFlag, print_json

if TYPE_CHECKING:
    from ftt.experiments.sweep import Sweep
    from ftt.launch import Outcome
    from ftt.store import Home


def sweep(
    path: Annotated[Path, typer.Argument(help="a TOML file: base, grid, runs (docs/scale.md)")],
    on: Annotated[str, typer.Option(help="local (this machine) or ray (a cluster; RAY_ADDRESS)")] = "local",
    workers: Annotated[int | None, typer.Option(min=1, help="runs at once; default: as many as fit")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="threads per run; default: cores / workers")] = None,
    json: JsonFlag = False,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Run every Spec of a sweep that has no result yet; a run that fails does not stop the others."""
    from ftt.cli.screen import watched
    from ftt.data import Roots
    from ftt.experiments.sweep import read
    from ftt.launch import Resources, launch
    from ftt.progress import say
    from ftt.store import Home

    asked = read(path)
    kept, roots = Home.from_environment(home), Roots.from_environment(cache, data)
    with watched():
        different = {spec.key: spec for spec in asked.specs}.values()
        done = sum(kept.runs.find(spec) is not None for spec in different)
        say(f"{asked.name}: {len(different)} runs, {done} of them are in the store already")
        outcomes = launch(asked.specs, kept, roots, on=on, resources=Resources(workers, threads))
    failed = {outcome.spec.run_id for outcome in outcomes if outcome.error is not None}
    if json:
        rows = _rows(asked, outcomes, kept)
        print_json({"name": asked.name, "total": len(different), "failed": len(failed), "runs": rows})
    else:
        _print(asked, outcomes, kept)
    if failed:
        raise typer.Exit(1)


def _rows(asked: Sweep, outcomes: list[Outcome], kept: Home) -> list[dict[str, Any]]:
    """One object a run: what was asked, what came of it."""
    rows = []
    for planned, outcome in zip(asked.runs, outcomes, strict=True):
        result = outcome.result or {}
        rows.append(
            {
                "run_id": outcome.spec.run_id,
                "given": planned.given,
                "state": "failed" if outcome.error else "done",
                "worst_group_accuracy": result.get("worst_group_accuracy"),
                "average_accuracy": result.get("average_accuracy"),
                "from_store": result.get("from_store"),
                "error": outcome.error,
                "traceback": str(kept.runs.folder(outcome.spec) / "failed.json") if outcome.error else None,
                "spec": outcome.spec.describe(),
            }
        )
    return rows


def _print(asked: Sweep, outcomes: list[Outcome], kept: Home) -> None:
    from rich.console import Console

    from ftt.report.tables import percent, plain_table

    varied = asked.varied()
    rows = []
    for planned, outcome in zip(asked.runs, outcomes, strict=True):
        words = [str(planned.given.get(name, "")) for name in varied]
        metrics = ("worst_group_accuracy", "average_accuracy")
        numbers = [percent(outcome.result[metric]) if outcome.result else "–" for metric in metrics]
        rows.append([outcome.spec.run_id, *words, *numbers, "failed" if outcome.error else "done"])
    console = Console(width=None if Console().is_terminal else 160)
    columns = ("run", *varied, "worst group", "average", "state")
    console.print(plain_table(f"{asked.name} (%)", columns, rows, left=1 + len(varied)))
    broken = {outcome.spec.run_id: outcome for outcome in outcomes if outcome.error is not None}
    for run_id, outcome in broken.items():
        console.print(f"run {run_id} failed: {outcome.error}", style="red", markup=False, highlight=False)
        console.print(f"  traceback: {kept.runs.folder(outcome.spec) / 'failed.json'}", highlight=False, soft_wrap=True)
    if broken:
        console.print("the same command tries the failed ones again, and only those", highlight=False)
