"""ftt run: one Spec from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ftt.cli.common import (
    CacheFlag,
    DataFlag,
    DryRunFlag,
    HomeFlag,
    JsonFlag,
    ReportFlag,
    ThreadsFlag,
    command_line,
    print_json,
    print_lines,
    print_plan,
    print_table,
)
from ftt.cli.names import (
    BackboneFlag,
    BudgetFlag,
    DatasetArgument,
    FreezeFlag,
    JoinFlag,
    LogFlag,
    MethodFlag,
    ProtocolFlag,
    RecipeFlag,
)

if TYPE_CHECKING:
    pass


def run(
    context: typer.Context,
    dataset: DatasetArgument,
    recipe: RecipeFlag = "ftt",
    p: Annotated[float | None, typer.Option(help="share of the features that is frozen, 0..1")] = None,
    freeze: FreezeFlag = None,
    method: MethodFlag = None,
    backbone: BackboneFlag = None,
    weights: Annotated[
        str | None,
        typer.Option(help="file with the weights of --backbone timm:…: safetensors, or .pth with tensors only"),
    ] = None,
    join: JoinFlag = None,
    budget: BudgetFlag = "cpu",
    protocol: ProtocolFlag = "paper",
    probe_dims: Annotated[
        str | None, typer.Option(help="probe on these numbers of principal components: 2,4,8")
    ] = None,
    seed: Annotated[int, typer.Option(help="seed of noise and of training")] = 0,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="number of trainings, from --seed on")] = 1,
    save: Annotated[Path | None, typer.Option(help="folder for the model, as `ftt save` writes it")] = None,
    flags: Annotated[bool, typer.Option("--flags", help="list every other flag with its range, and exit")] = False,
    log: LogFlag = None,
    dry_run: DryRunFlag = False,
    report: ReportFlag = None,
    json: JsonFlag = False,
    accelerator: Annotated[str, typer.Option(help="auto, cpu, cuda or mps")] = "auto",
    devices: Annotated[int, typer.Option(min=1, max=1024, help="devices per node; several train together")] = 1,
    nodes: Annotated[int, typer.Option(min=1, max=10_000, help="number of machines")] = 1,
    threads: ThreadsFlag = None,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="use kernels that do not depend on the processor; slower")
    ] = False,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Run one experiment: noise, features, freeze, train, probe, evaluate.

    Every parameter of the data set, training, probing, freezer and method is a flag too, for example
    --core-noise 0.2 --spurious-noise 0 --epochs 6; --flags lists them.
    """
    from ftt import threads as pools

    if deterministic:
        pools.pin_kernels()
    from ftt.cli.flags import parse
    from ftt.cli.screen import watched
    from ftt.runs.compose import compose, owners_of

    chosen = {"p": p, "freeze": freeze, "method": method, "join": join, "backbone": backbone, "weights": weights}
    given: dict[str, Any] = {"dataset": dataset, "recipe": recipe, "budget": budget, "protocol": protocol, "seed": seed}
    given |= {name: value for name, value in chosen.items() if value is not None}
    owners = owners_of(given)
    if flags:
        _print_flags(given)
        return
    given |= parse(context.args, owners)
    if save is not None:
        _check_save(save, seeds, probe_dims)
    specs = [compose({**given, **dims, "seed": seed + n}) for n in range(seeds) for dims in _dims(probe_dims)]

    from ftt.cli.result_printing import print_result
    from ftt.launch import Resources
    from ftt.report.tables import dims_table, seeds_table
    from ftt.runs.runner import run_spec
    from ftt.store import Home
    from ftt.train.machine import Machine

    if dry_run:
        from ftt.api import plan

        with watched(), pools.limited_to(threads or pools.available()):
            planned = plan(specs, home=Home.from_environment(home, cache, data), resources=Resources(workers=1))
        print_plan(planned, json)
        return
    kept, machine = Home.from_environment(home, cache, data), Machine(accelerator, devices, nodes)
    with watched(), pools.limited_to(threads or pools.available()):
        results = [run_spec(spec, kept, machine) for spec in specs]
        if save is not None:
            from ftt.runs.saving import save_run

            save_run(results[0].run, save, kept)
        if report is not None:
            from ftt.api import write_report

            write_report(results, out=report, command=command_line(), home=kept)
    if json:
        print_json(results[0].to_json() if len(specs) == 1 else {"runs": [result.to_json() for result in results]})
    elif probe_dims is not None:
        print_table(dims_table(results))
    elif seeds > 1:
        print_table(seeds_table(results))
    else:
        print_result(results[0])
        if save is not None:
            print_lines(f"saved to {save}; next: ftt predict {save} NEW_DATA", style="dim")


def _check_save(folder: Path, seeds: int, probe_dims: str | None) -> None:
    """Refuse, before anything is trained, what could not be saved afterwards."""
    from ftt.errors import FttError
    from ftt.train.saved import require_free

    if seeds > 1 or (probe_dims and "," in probe_dims):
        raise FttError(
            "--save keeps the model of one run",
            given=f"--seeds {seeds}" if seeds > 1 else f"--probe-dims {probe_dims}",
            allowed="a single run",
            hint="leave --save out, then save the run you choose: ftt save RUN DIR",
        )
    require_free(folder)


def _dims(text: str | None) -> list[dict[str, int]]:
    """What one run changes for every number of dimensions to probe on."""
    from ftt.errors import FttError

    if text is None:
        return [{}]
    try:
        return [{"probe.dims": int(part)} for part in text.split(",")]
    except ValueError:
        raise FttError("--probe-dims expects integers", given=text[:60], allowed="2,4,8,16") from None


def _print_flags(given: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    from ftt.cli.flags import rows
    from ftt.errors import FttError
    from ftt.runs.compose import compose, owners_of, source_role

    usual: dict[str, Any] = {}
    try:
        spec = compose(given)
        usual = {"data": spec.data, "train": spec.train, "probe": spec.probe}
        usual |= {"freeze": spec.recipe.freeze} if spec.recipe.freeze else {}
        usual |= {"method": spec.recipe.method} if spec.recipe.method else {}
        usual |= {source_role(source): source for source in spec.recipe.sources}
    except FttError:
        # The data set has required parameters, such as a path; they are listed as such.
        pass
    table = Table("flag", "default", "range", "meaning", box=None, header_style="bold")
    for row in rows(owners_of(given), usual):
        table.add_row(*map(Text, row))
    print_lines(table)
