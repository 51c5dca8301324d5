"""ftt data: fetch a data set, or show what it is and what is there of it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ftt.cli.common import EXTRA, CacheFlag, DataFlag, JsonFlag, print_json

app = typer.Typer(help="Fetch data sets, or show what they are and what is there of them.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="a name of: ftt ls datasets")]


@app.command()
def get(name: Name, cache: CacheFlag = None, data: DataFlag = None) -> None:
    """Fetch everything a data set needs, and verify it."""
    from ftt import registry
    from ftt.cli.screen import watched
    from ftt.data import Places

    places = Places.from_environment(cache, data)
    collections = registry.DATASETS.get(name).collections()
    with watched():
        for collection in collections:
            for path in collection.obtain(places).values():
                typer.echo(f"{collection.name}: {path}")
    if not collections:
        typer.echo(f"{name} needs no files: {registry.DATASETS.get(name).info.how_to_get}")


@app.command(context_settings=EXTRA)
def show(
    context: typer.Context, name: Name, json: JsonFlag = False, cache: CacheFlag = None, data: DataFlag = None
) -> None:
    """Show licence and citation, what is on this machine, and the group counts of every split.

    The data set's own parameters are flags: ftt data show dominoes --core-noise 0.2
    """
    from ftt import registry
    from ftt.cli.flags import parse
    from ftt.cli.screen import watched
    from ftt.data import Places
    from ftt.experiments.overview import overview

    places = Places.from_environment(cache, data)
    source = registry.DATASETS.get(name)
    chosen = source.from_options(parse(context.args, {"data": source})["data"])
    found = {collection.name: collection.found(places) for collection in source.collections()}
    with watched():
        content = overview(chosen.load(places)) if all(found.values()) else None
    if json:
        print_json({"info": vars(source.info), "found": found, "content": content})
        return
    _print(source.info, found, content)


def _print(info: Any, found: dict[str, bool], content: dict[str, Any] | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"[bold]{info.name}[/bold]  {info.summary}", highlight=False)
    for label, value in (("licence", info.licence), ("cite", info.citation), ("get it", info.how_to_get)):
        if value:
            console.print(f"  {label + ':':<9}{value}", highlight=False)
    for name, there in found.items():
        console.print(f"  {name}: {'on this machine' if there else 'not here yet: ftt data get ' + info.name}")
    if content is None:
        return
    table = Table("split", "label", *content["attributes"], "rows", box=None, header_style="bold")
    for split, counts in content["counts"].items():
        for label, row in zip(content["classes"], counts, strict=True):
            table.add_row(split, label, *map(str, row), str(sum(row)))
        table.add_section()
    console.print(table)
    for split, noise in content["noise"].items():
        known = [f"{kind} {value:.1%}" for kind, value in noise.items() if value is not None]
        console.print(f"  noise in {split + ':':<6} {', '.join(known) or 'not known'}", highlight=False)
