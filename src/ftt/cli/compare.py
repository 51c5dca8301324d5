"""ftt compare: several recipes on one data set, with paired differences."""

from __future__ import annotations

from itertools import takewhile
from typing import Annotated, Any

import typer

from ftt.cli.common import CacheFlag, DataFlag, HomeFlag, JsonFlag, print_json, print_lines, print_table


def compare(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(help="data set name, then recipes: dominoes init erm ftt")],
    budget: Annotated[
        str, typer.Option(help="cpu (two cores), paper (the published setting) or smoke (tests)")
    ] = "cpu",
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="number of trainings of every recipe")] = 1,
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
    from ftt.runs.compose import owners_of
    from ftt.store import Home

    recipes = list(takewhile(lambda word: not word.startswith("--"), context.args))
    owners = owners_of({"dataset": dataset, "recipe": "init", "budget": budget})
    options: dict[str, Any] = {"budget": budget, **parse(context.args[len(recipes) :], owners)}
    with watched():
        made = api.compare(dataset, recipes, seeds=seeds, home=Home.from_environment(home, cache, data), **options)
    if json:
        print_json(made.to_json())
        return
    print_table(made.table())
    for sentence in made.sentences():
        print_lines(sentence)
