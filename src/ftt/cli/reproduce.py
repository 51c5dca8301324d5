"""ftt reproduce: a table or figure of the paper by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ftt.cli.common import CacheFlag, DataFlag, HomeFlag, JsonFlag, ThreadsFlag, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ftt.data import Roots
    from ftt.experiments.tables import Cell, Measured
    from ftt.launch import Resources
    from ftt.store import Home


def reproduce(
    name: Annotated[str, typer.Argument(help="a name of: ftt ls experiments")],
    budget: Annotated[
        str, typer.Option(help="paper (to the letter), cpu (reduced for two cores), smoke (tests)")
    ] = "cpu",
    dataset: Annotated[str | None, typer.Option(help="the data set, where an experiment has several")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="training seeds of every cell [the budget's]")] = None,
    probe_seeds: Annotated[int | None, typer.Option(min=1, help="probe seeds of every run [the budget's]")] = None,
    on: Annotated[str, typer.Option(help="local (processes here) or ray (a cluster)")] = "local",
    workers: Annotated[int | None, typer.Option(min=1, help="runs at once")] = None,
    out: Annotated[Path | None, typer.Option(help="folder for page, pictures and runs")] = None,
    json: JsonFlag = False,
    threads: ThreadsFlag = None,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Run a table or figure by name and print it beside the paper's numbers; stored runs are not repeated."""
    from ftt.cli.screen import watched
    from ftt.data import Roots
    from ftt.experiments.catalogue import find
    from ftt.experiments.publish import publish, records
    from ftt.experiments.tables import Board
    from ftt.launch import Resources
    from ftt.store import Home

    experiment = find(name)
    ask = experiment.ask(budget, dataset, seeds, probe_seeds)
    roots = Roots.from_environment(cache, data)
    with watched():
        measured, failures = _measure(
            name, experiment.cells(ask), Home.from_environment(home), roots, on, Resources(workers, threads)
        )
        board = Board(measured)
        story = experiment.story(board, ask, roots)
        files = publish(experiment, ask, board, story, out) if out else []
    if json:
        tables = [{"title": t.title, "columns": t.columns, "rows": t.rows} for t in story.tables]
        print_json(
            {
                "name": name,
                "budget": budget,
                "findings": story.findings,
                "tables": tables,
                "runs": records(board),
                "failed": failures,
                "files": [str(path) for path in files],
            }
        )
    else:
        _print(experiment, ask, story, files, failures)
    if failures:
        raise typer.Exit(1)


def _measure(
    name: str, cells: Sequence[Cell], home: Home, roots: Roots, on: str, resources: Resources
) -> tuple[list[Measured], dict[str, str]]:
    """Run what has no result yet; the failures by run."""
    from ftt.experiments.pilot import estimate
    from ftt.experiments.tables import Measured
    from ftt.launch import launch
    from ftt.progress import say

    specs = list({spec.key: spec for cell in cells for spec in cell.specs}.values())
    pending = [spec for spec in specs if home.runs.find(spec) is None]
    if specs:
        say(f"{name}: {len(specs)} runs, {len(specs) - len(pending)} of them are in the store already")
    if pending:
        seconds, workers = estimate(pending, roots), resources.divide(len(specs))[0]
        say(f"about {_minutes(seconds / workers)} at most for {len(pending)} runs, {workers} at once (from a pilot)")
    outcomes = {outcome.spec.key: outcome for outcome in launch(specs, home, roots, on=on, resources=resources)}
    measured = []
    for cell in cells:
        found = [outcomes[spec.key].result for spec in cell.specs]
        measured.append(Measured(cell, tuple(result for result in found if result is not None)))
    failures = {o.spec.run_id: o.error for o in outcomes.values() if o.error is not None}
    return measured, failures


def _minutes(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds > 5400 else f"{max(seconds / 60, 0.1):.1f} min"


def _print(experiment: Any, ask: Any, story: Any, files: list[Path], failures: dict[str, str]) -> None:
    from rich.console import Console

    from ftt.report.tables import plain_table

    console = Console(width=None if Console().is_terminal else 160)
    console.print(experiment.question, style="italic")
    for table in story.tables:
        console.print(plain_table(table.title, table.columns, table.rows, left=1))
    for label, lines in (("the paper", [experiment.said] if experiment.said else []), ("here", story.findings)):
        for line in lines:
            console.print(f"{label}: {line}", highlight=False)
    console.print(f"reduced against the paper: {experiment.differs(ask)}", style="dim", highlight=False)
    for path in files:
        console.print(str(path), style="dim", highlight=False, soft_wrap=True)
    for run_id, error in failures.items():
        console.print(f"run {run_id} failed: {error}", style="red", highlight=False, markup=False)
