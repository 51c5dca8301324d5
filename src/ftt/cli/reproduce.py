"""ftt reproduce: a table or figure of the paper by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ftt.cli.common import CacheFlag, DataFlag, HomeFlag, JsonFlag, ThreadsFlag, print_json, print_lines, print_table

if TYPE_CHECKING:
    from ftt.paper.publish import Reproduction


def reproduce(
    name: Annotated[str, typer.Argument(help="experiment name (see `ftt ls experiments`)")],
    budget: Annotated[str, typer.Option(help="paper (to the letter), cpu (two cores) or smoke (tests)")] = "cpu",
    dataset: Annotated[str, typer.Option(help="data set, for experiments on several")] = "",
    seeds: Annotated[int | None, typer.Option(min=1, max=1000, help="training seeds per cell")] = None,
    probe_seeds: Annotated[int | None, typer.Option(min=1, max=1000, help="probe seeds per run")] = None,
    on: Annotated[
        str, typer.Option(help="local (processes of this machine), ray (a cluster) or store (finished runs only)")
    ] = "local",
    workers: Annotated[int | None, typer.Option(min=1, max=10_000, help="number of runs at a time")] = None,
    out: Annotated[Path | None, typer.Option(help="folder for the page, its pictures and runs")] = None,
    json: JsonFlag = False,
    threads: ThreadsFlag = None,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Run a table or figure by name and print it beside the paper's numbers; stored runs are not repeated."""
    from ftt import api
    from ftt.cli.screen import watched
    from ftt.launch import Resources
    from ftt.store import Home

    with watched():
        made = api.reproduce(
            name,
            budget=budget,
            dataset=dataset,
            seeds=seeds,
            probe_seeds=probe_seeds,
            out=out,
            home=Home.from_environment(home, cache, data),
            on=on,
            resources=Resources(workers, threads),
        )
    if json:
        print_json(made.to_json())
    else:
        _print(made)
    if made.failures:
        raise typer.Exit(1)


def _print(made: Reproduction) -> None:
    print_lines(made.experiment.question, style="italic")
    for table in made.findings.tables:
        print_table(table)
    said = [made.experiment.said] if made.experiment.said else []
    for label, sentences in (("the paper", said), ("here", made.findings.sentences)):
        for sentence in sentences:
            print_lines(f"{label}: {sentence}")
    print_lines(f"reduced against the paper: {made.experiment.differs(made.request)}", style="dim")
    for path in made.files:
        print_lines(str(path), style="dim")
    for run_id, error in made.failures.items():
        print_lines(f"run {run_id} failed: {error}", style="red")
