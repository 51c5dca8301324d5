"""ftt demo: the paper's claim on real data, in a table, a chart and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ftt.cli.common import CacheFlag, DataFlag, HomeFlag, JsonFlag, ThreadsFlag, print_json

if TYPE_CHECKING:
    from ftt.data import Roots


def demo(
    dataset: Annotated[
        str | None, typer.Option(help="dominoes or digits; default: dominoes where it can be had")
    ] = None,
    json: JsonFlag = False,
    threads: ThreadsFlag = None,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Show the paper's claim on real data: initial features, ERM and FTT under two noises."""
    from ftt import threads as pools
    from ftt.cli.screen import watched
    from ftt.data import Roots
    from ftt.errors import unknown
    from ftt.experiments.demo import RECIPES, run_demo, verdict
    from ftt.report import demo as report
    from ftt.store import Home
    from ftt.store.runs import write_json

    if dataset not in (None, "dominoes", "digits"):
        raise unknown("demo data set", dataset, ("dominoes", "digits"))
    roots, kept = Roots.from_environment(cache, data), Home.from_environment(home)
    with watched(), pools.limited_to(threads or pools.available()):
        chosen = dataset or _what_can_be_had(roots)
        rows = run_demo(chosen, kept, roots)
        folder = kept.root / "demo" / chosen
        paths = report.write(rows, RECIPES, chosen, verdict(rows), folder)
        write_json(folder / "results.json", [row.result for row in rows])
    if json:
        print_json({"dataset": chosen, "verdict": verdict(rows), "runs": [row.result for row in rows]})
        return
    from rich.console import Console

    from ftt.report.tables import plain_table

    console = Console(width=None if Console().is_terminal else 120)
    title = f"{chosen}: probed accuracy on clean test labels (%)"
    console.print(plain_table(title, report.COLUMNS, report.cells(rows, RECIPES)))
    console.print(verdict(rows))
    console.print("Everything is in " + str(folder.resolve()), soft_wrap=True, highlight=False)
    for path in paths:
        console.print(f"  {path.name}", highlight=False)


def _what_can_be_had(roots: Roots) -> str:
    """Dominoes where its files are here or can be fetched, the embedded digits otherwise; and says so."""
    from ftt.data.dominoes import Dominoes
    from ftt.data.fetch import UnreachableError
    from ftt.progress import say

    try:
        for collection in Dominoes.collections():
            collection.obtain(roots)
    except UnreachableError as error:
        say(str(error))
        say("the demo runs on the embedded digits instead: a small stand-in, no pictures of cars")
        return "digits"
    return "dominoes"
