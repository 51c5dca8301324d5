"""ftt compare: several recipes on one data set, with paired differences."""

from __future__ import annotations

from itertools import takewhile
from typing import Annotated, Any

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
from ftt.cli.names import BackboneFlag, BudgetFlag, DatasetArgument, LogFlag, ProtocolFlag, completes

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RECIPE",
        help="two or more recipes (see `ftt ls recipes`): init erm ftt",
        autocompletion=completes("recipes"),
    ),
]


def compare(
    dataset: DatasetArgument,
    recipes: Words = None,
    backbone: BackboneFlag = None,
    budget: BudgetFlag = "cpu",
    protocol: ProtocolFlag = "paper",
    seed: Annotated[int, typer.Option(help="first seed of noise and of training")] = 0,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="number of trainings of every recipe")] = 1,
    log: LogFlag = None,
    dry_run: DryRunFlag = False,
    report: ReportFlag = None,
    json: JsonFlag = False,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Run several recipes on one data set and compare each with the first, on the same test rows.

    Parameters of the data set, training and probing are flags, as in `ftt run`:
    ftt compare dominoes erm ftt both --core-noise 0.2 --seeds 2
    """
    from ftt import api
    from ftt.cli.flags import parse
    from ftt.cli.screen import watched
    from ftt.launch import Resources
    from ftt.runs.compose import owners_of
    from ftt.store import Home

    words = recipes or []
    # Flags of parameters are not declared, so they arrive among the words.
    names = list(takewhile(lambda word: not word.startswith("--"), words))
    owners = owners_of({"dataset": dataset, "recipe": "init", "budget": budget})
    options: dict[str, Any] = {"budget": budget, "protocol": protocol, "seed": seed}
    options |= {"backbone": backbone} if backbone else {}
    options |= parse(words[len(names) :], owners)
    kept = Home.from_environment(home, cache, data)
    if dry_run:
        listed = api.compared_specs(dataset, names, seeds=seeds, **options).values()
        with watched():
            planned = api.plan([s for specs in listed for s in specs], home=kept, resources=Resources(workers=1))
        print_plan(planned, json)
        return
    with watched():
        made = api.compare(dataset, names, seeds=seeds, home=kept, **options)
        if report is not None:
            results = [result for runs in made.results.values() for result in runs]
            api.write_report(results, out=report, command=command_line(), home=kept)
    if json:
        print_json(made.to_json())
        return
    print_table(made.table())
    for sentence in made.sentences():
        print_lines(sentence)
