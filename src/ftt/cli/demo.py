"""ftt demo: the paper's claim on real data, in a table, a chart and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ftt.cli.common import CacheFlag, DataFlag, HomeFlag, JsonFlag, ThreadsFlag, print_json, print_lines, print_table

if TYPE_CHECKING:
    from ftt.data import Roots


def demo(
    dataset: Annotated[str | None, typer.Option(help="dominoes or digits; default: dominoes if available")] = None,
    json: JsonFlag = False,
    threads: ThreadsFlag = None,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Show the paper's claim on real data: initial features, ERM and FTT under two noises."""
    from ftt import threads as pools
    from ftt.cli.screen import watched
    from ftt.errors import unknown
    from ftt.paper import demo_page
    from ftt.paper.demo_claims import DATASETS, run_demo, verdict
    from ftt.store import Home
    from ftt.store.checked_json import write_json

    if dataset not in (None, *DATASETS):
        raise unknown("demo data set", dataset, DATASETS)
    kept = Home.from_environment(home, cache, data)
    with watched(), pools.limited_to(threads or pools.available()):
        chosen = dataset or _available(kept.roots)
        rows = run_demo(chosen, kept)
        folder = kept.root / "demo" / chosen
        paths = demo_page.write(rows, chosen, folder)
        write_json(folder / "results.json", [row.result.to_json() for row in rows])
    if json:
        print_json({"dataset": chosen, "verdict": verdict(rows), "runs": [row.result.to_json() for row in rows]})
        return
    print_table(demo_page.table(rows, chosen))
    print_lines(verdict(rows), f"Table, charts and page are in {folder.resolve()}:")
    print_lines(*(f"  {path.name}" for path in paths))


def _available(roots: Roots) -> str:
    """Dominoes if its files are here or can be fetched, otherwise the embedded digits, with a message."""
    from ftt.data.dominoes import Dominoes
    from ftt.data.fetch import UnreachableError
    from ftt.progress import say

    try:
        for collection in Dominoes.collections():
            collection.obtain(roots)
    except UnreachableError as error:
        say(str(error))
        say("the demo uses the embedded digits instead: a small stand-in without pictures of cars")
        return "digits"
    return "dominoes"
