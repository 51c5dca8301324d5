"""ftt run: one Spec from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ftt.cli.common import CacheFlag, DataFlag, HomeFlag, JsonFlag, ThreadsFlag, print_json, print_lines, print_table

if TYPE_CHECKING:
    from ftt.result import Result


def run(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(help="data set name (see `ftt ls datasets`)")],
    recipe: Annotated[str, typer.Option(help="recipe name (see `ftt ls recipes`)")] = "ftt",
    p: Annotated[float | None, typer.Option(help="share of the features that is frozen, 0..1")] = None,
    freeze: Annotated[str | None, typer.Option(help="another freezer (see `ftt ls freezers`)")] = None,
    method: Annotated[str | None, typer.Option(help="another method (see `ftt ls methods`), or none")] = None,
    backbone: Annotated[str | None, typer.Option(help="backbone name (see `ftt ls backbones`)")] = None,
    join: Annotated[str | None, typer.Option(help="where frozen and trained features meet: joint or late")] = None,
    budget: Annotated[
        str, typer.Option(help="cpu (two cores), paper (the published setting) or smoke (tests)")
    ] = "cpu",
    protocol: Annotated[str, typer.Option(help="paper, or dfr-original: four groups, L1, twenty averages")] = "paper",
    probe_dims: Annotated[
        str | None, typer.Option(help="probe on these numbers of principal components: 2,4,8")
    ] = None,
    seed: Annotated[int, typer.Option(help="seed of noise and of training")] = 0,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="number of trainings, from --seed on")] = 1,
    flags: Annotated[bool, typer.Option("--flags", help="list every other flag with its range, and exit")] = False,
    json: JsonFlag = False,
    accelerator: Annotated[str, typer.Option(help="auto, cpu, cuda or mps")] = "auto",
    devices: Annotated[int, typer.Option(min=1, max=1024, help="devices per node; several train together")] = 1,
    nodes: Annotated[int, typer.Option(min=1, max=10_000, help="number of machines")] = 1,
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
    from ftt.cli.flags import parse
    from ftt.cli.screen import watched
    from ftt.runs.compose import compose, owners_of

    chosen = {"p": p, "freeze": freeze, "method": method, "join": join, "backbone": backbone}
    given: dict[str, Any] = {"dataset": dataset, "recipe": recipe, "budget": budget, "protocol": protocol, "seed": seed}
    given |= {name: value for name, value in chosen.items() if value is not None}
    owners = owners_of(given)
    if flags:
        _print_flags(given)
        return
    given |= parse(context.args, owners)
    specs = [compose({**given, **dims, "seed": seed + n}) for n in range(seeds) for dims in _dims(probe_dims)]

    from ftt.report.tables import seeds_table
    from ftt.runs.runner import run_spec
    from ftt.store import Home
    from ftt.train.machine import Machine

    kept, machine = Home.from_environment(home, cache, data), Machine(accelerator, devices, nodes)
    with watched(), pools.limited_to(threads or pools.available()):
        results = [run_spec(spec, kept, machine) for spec in specs]
    if json:
        print_json(results[0].to_json() if len(specs) == 1 else {"runs": [result.to_json() for result in results]})
    elif probe_dims is not None:
        _print_dims(results)
    elif seeds > 1:
        print_table(seeds_table(results))
    else:
        _print_result(results[0])


def _dims(text: str | None) -> list[dict[str, int]]:
    """What one run changes for every number of dimensions to probe on."""
    from ftt.errors import FttError

    if text is None:
        return [{}]
    try:
        return [{"probe.dims": int(part)} for part in text.split(",")]
    except ValueError:
        raise FttError("--probe-dims expects integers", given=text[:60], allowed="2,4,8,16") from None


def _print_dims(results: list[Result]) -> None:
    from ftt.report.tables import TextTable, percent

    rows = [
        [str(r.dims), percent(r.worst_group_accuracy), percent(r.average_accuracy), f"{r.seconds['probe']:.2f}"]
        for r in results
    ]
    columns = ("dimensions", "worst group", "average", "probing (s)")
    print_table(TextTable("probed on the first principal components (%)", columns, rows, left=0))


def _print_flags(given: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    from ftt.cli.flags import rows
    from ftt.errors import FttError
    from ftt.runs.compose import compose, owners_of

    usual: dict[str, Any] = {}
    try:
        spec = compose(given)
        usual = {"data": spec.data, "train": spec.train, "probe": spec.probe}
        usual |= {"freeze": spec.recipe.freeze} if spec.recipe.freeze else {}
        usual |= {"method": spec.recipe.method} if spec.recipe.method else {}
    except FttError:
        # The data set has required parameters, such as a path; they are listed as such.
        pass
    table = Table("flag", "default", "range", "meaning", box=None, header_style="bold")
    for row in rows(owners_of(given), usual):
        table.add_row(*map(Text, row))
    print_lines(table)


def _print_result(result: Result) -> None:
    from ftt.report.tables import result_table

    print_table(result_table(result))
    where = "from the store" if result.from_store else f"took {sum(result.seconds.values()):.0f} s"
    print_lines(f"run {result.run.id} · C = {result.C:g} · {where}", style="dim")
    for warning in (*result.report.remarks(), *result.warnings):
        print_lines(f"note: {warning}", style="yellow")
