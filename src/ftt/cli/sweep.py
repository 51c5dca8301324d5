"""ftt sweep: every run of a file, on this machine or on a Ray cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ftt.cli.common import (
    CacheFlag,
    DataFlag,
    DryRunFlag,
    HomeFlag,
    JsonFlag,
    ReportFlag,
    command_line,
    print_json,
    print_lines,
    print_plan,
    print_table,
)
from ftt.cli.names import LogFlag

if TYPE_CHECKING:
    from ftt.launch import Outcome
    from ftt.launch.sweep_result import SweepResult
    from ftt.store import Home


def sweep(
    path: Annotated[Path, typer.Argument(help="a TOML file: base, grid, runs (docs/scale.md)")],
    on: Annotated[str, typer.Option(help="local (this machine) or ray (a cluster; RAY_ADDRESS)")] = "local",
    workers: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="runs at a time; default: all that fit")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, help="threads per run; default: cores / workers")
    ] = None,
    log: LogFlag = None,
    dry_run: DryRunFlag = False,
    report: ReportFlag = None,
    json: JsonFlag = False,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Run every Spec of a sweep that has no result yet; a run that fails does not stop the others."""
    from ftt import api
    from ftt.cli.screen import watched
    from ftt.launch import Resources
    from ftt.store import Home

    kept = Home.from_environment(home, cache, data)
    if dry_run:
        from ftt.runs.sweep_file import read

        with watched():
            planned = api.plan(read(path).specs, home=kept, resources=Resources(workers, threads))
        print_plan(planned, json)
        return
    with watched():
        done = api.sweep(path, home=kept, on=on, resources=Resources(workers, threads))
        finished = [outcome.result for outcome in done.outcomes if outcome.result]
        if report is not None and finished:
            notes = [f"{len(done.failed)} runs failed and are not shown."] if done.failed else []
            api.write_report(
                finished, out=report, title=done.sweep.name, command=command_line(), notes=notes, home=kept
            )
    if json:
        print_json(done.to_json())
    else:
        _print(done, kept)
    if done.failed:
        raise typer.Exit(1)


def _state(outcome: Outcome) -> str:
    from ftt.report.tables import one_class

    if outcome.error:
        return "failed"
    return "done" + one_class([outcome.result] if outcome.result else [])


def _print(done: SweepResult, kept: Home) -> None:
    from ftt.report.tables import TextTable, percent

    varied = done.sweep.varied()
    rows = []
    for planned, outcome in zip(done.sweep.runs, done.outcomes, strict=True):
        words = [str(planned.given.get(name, "")) for name in varied]
        result = outcome.result
        numbers = [percent(result.worst_group_accuracy), percent(result.average_accuracy)] if result else ["–", "–"]
        rows.append([outcome.run.id, *words, *numbers, _state(outcome)])
    columns = ("run", *varied, "worst group", "average", "state")
    print_table(TextTable(f"{done.sweep.name} (%)", columns, rows, left=1 + len(varied)))
    failed = {outcome.run.id: outcome for outcome in done.outcomes if outcome.error is not None}
    for run_id, outcome in failed.items():
        print_lines(f"run {run_id} failed: {outcome.error}", style="red")
        print_lines(f"  traceback: {kept.runs.folder(outcome.run) / 'failed.json'}")
    if failed:
        print_lines("the same command repeats the failed runs only")
