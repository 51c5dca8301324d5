"""ftt reproduce: a table or figure of the paper by name."""

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
    ThreadsFlag,
    print_json,
    print_lines,
    print_plan,
    print_table,
)
from ftt.cli.names import BudgetFlag, ExperimentArgument, LogFlag, completes

if TYPE_CHECKING:
    from ftt.paper.publish import Reproduction


def reproduce(
    name: ExperimentArgument,
    budget: BudgetFlag = "cpu",
    dataset: Annotated[
        str, typer.Option(help="data set, for experiments on several", autocompletion=completes("datasets"))
    ] = "",
    seeds: Annotated[int | None, typer.Option(min=1, max=1000, help="training seeds per cell")] = None,
    probe_seeds: Annotated[int | None, typer.Option(min=1, max=1000, help="probe seeds per run")] = None,
    backbone: Annotated[
        str | None, typer.Option(help="another backbone, such as timm:resnet50@FILE with your weights")
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            help="local (processes of this machine), ray (a cluster) or store (finished runs, nothing is trained)"
        ),
    ] = "local",
    workers: Annotated[int | None, typer.Option(min=1, max=10_000, help="number of runs at a time")] = None,
    out: Annotated[Path | None, typer.Option(help="folder for the page, its pictures and runs")] = None,
    published: Annotated[
        Path | None, typer.Option(help="folder with pages made earlier, here or elsewhere: their runs are not repeated")
    ] = None,
    log: LogFlag = None,
    dry_run: DryRunFlag = False,
    report: ReportFlag = None,
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
    from ftt.launch.filling import unpublished
    from ftt.store import Home

    kept, resources = Home.from_environment(home, cache, data), Resources(workers, threads)
    request: api.RequestOptions = {
        "budget": budget,
        "dataset": dataset,
        "seeds": seeds,
        "probe_seeds": probe_seeds,
        "backbone": backbone,
    }
    if dry_run:
        experiment, wanted = api.requested(name, **request)
        specs = unpublished(experiment.cells(wanted), kept, published)
        with watched():
            planned = api.plan(specs, home=kept, resources=resources)
        print_plan(planned, json)
        return
    with watched():
        made = api.reproduce(name, out=out, home=kept, published=published, on=on, resources=resources, **request)
    if report is not None:
        from ftt.paper.reproduction_page import reproduction_page
        from ftt.report.page import write

        write(report, reproduction_page(made))
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
