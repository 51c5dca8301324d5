"""ftt run: one Spec from the command line."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ftt.cli.common import CacheFlag, DataFlag, HomeFlag, JsonFlag, ThreadsFlag, print_json


def run(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(help="a name of: ftt ls datasets")],
    recipe: Annotated[str, typer.Option(help="a name of: ftt ls recipes")] = "ftt",
    p: Annotated[float | None, typer.Option(help="share of the features that is frozen, 0..1")] = None,
    freeze: Annotated[str | None, typer.Option(help="another freezer: ftt ls freezers")] = None,
    method: Annotated[str | None, typer.Option(help="another method: ftt ls methods")] = None,
    backbone: Annotated[str | None, typer.Option(help="a name of: ftt ls backbones")] = None,
    join: Annotated[str | None, typer.Option(help="where frozen and trained features meet: joint or late")] = None,
    budget: Annotated[str, typer.Option(help="cpu (small), or paper (the published setting)")] = "cpu",
    protocol: Annotated[str, typer.Option(help="paper, or dfr-original: four groups, L1, twenty averages")] = "paper",
    probe_dims: Annotated[str | None, typer.Option(help="probe on so many principal components: 2,4,8")] = None,
    seed: Annotated[int, typer.Option(min=0, help="seed of noise and of training")] = 0,
    flags: Annotated[bool, typer.Option("--flags", help="list every other flag with its range, and stop")] = False,
    json: JsonFlag = False,
    accelerator: Annotated[str, typer.Option(help="auto, cpu, cuda or mps")] = "auto",
    devices: Annotated[int, typer.Option(min=1, help="devices per node; several train together")] = 1,
    nodes: Annotated[int, typer.Option(min=1, help="machines")] = 1,
    threads: ThreadsFlag = None,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Run one experiment: noise, features, freeze, train, probe, evaluate.

    Every parameter of the data set, training, probing, freezer and method is a flag too, for example
    --core-noise 0.2 --spurious-noise 0 --epochs 6; --flags lists them.
    """
    from ftt import threads as pools
    from ftt.cli.compose import by_dims, spec_of
    from ftt.cli.flags import rows
    from ftt.cli.screen import watched
    from ftt.data import Roots
    from ftt.experiments.compose import roles
    from ftt.store import Home

    asked: dict[str, Any] = {"dataset": dataset, "recipe": recipe, "budget": budget, "protocol": protocol, "seed": seed}
    parts = {"p": p, "freeze": freeze, "method": method, "join": join, "backbone": backbone}
    asked |= {name: value for name, value in parts.items() if value is not None}
    if flags:
        _print_flags(rows(roles(asked)))
        return
    specs = by_dims(spec_of(asked, context.args), probe_dims)
    from ftt.experiments.runner import run as run_spec
    from ftt.train.machine import Machine

    machine = Machine(accelerator, devices, nodes)
    kept, roots = Home.from_environment(home), Roots.from_environment(cache, data)
    with watched(), pools.limited_to(threads or pools.available()):
        results = [run_spec(spec, kept, roots, machine) for spec in specs]
    if json:
        print_json(results[0] if probe_dims is None else {"runs": results})
    elif probe_dims is None:
        _print_result(results[0])
    else:
        _print_dims(results)


def _print_dims(results: list[dict[str, Any]]) -> None:
    from rich.console import Console

    from ftt.report.tables import percent, plain_table

    rows = [
        [
            str(result["probe"]["dims"]),
            percent(result["worst_group_accuracy"]),
            percent(result["average_accuracy"]),
            f"{result['seconds']['probe']:.2f}",
        ]
        for result in results
    ]
    columns = ("dimensions", "worst group", "average", "probing (s)")
    Console().print(plain_table("probed on the first principal components (%)", columns, rows, left=0))


def _print_flags(rows: list[tuple[str, str, str, str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("of", "flag", "default", "range", "what it is", box=None, header_style="bold")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def _print_result(result: dict[str, Any]) -> None:
    from rich.console import Console

    from ftt.report.tables import result_table

    console = Console()
    console.print(result_table(result))
    where = "from the store" if result["from_store"] else f"took {sum(result['seconds'].values()):.0f} s"
    console.print(f"run {result['run_id']} · C = {result['probe']['C']:g} · {where}", style="dim", highlight=False)
    for complaint in result["probe"]["warnings"]:
        console.print(f"note: {complaint}", style="yellow", highlight=False)
