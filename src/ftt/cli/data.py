"""ftt data: fetch a data set, or show what it is and what is there of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ftt.cli.common import EXTRA, CacheFlag, DataFlag, JsonFlag, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from ftt.data import GroupedData

app = typer.Typer(help="Fetch data sets, or show what they are and what is there of them.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="a name of: ftt ls datasets")]


@app.command()
def get(name: Name, cache: CacheFlag = None, data: DataFlag = None) -> None:
    """Fetch everything a data set needs, and verify it."""
    from ftt import registry
    from ftt.cli.screen import watched
    from ftt.data import Roots

    roots = Roots.from_environment(cache, data)
    collections = registry.DATASETS.get(name).collections()
    with watched():
        for collection in collections:
            for path in collection.obtain(roots).values():
                typer.echo(f"{collection.name}: {path}")
    if not collections:
        typer.echo(f"{name} needs no files: {registry.DATASETS.get(name).info.how_to_get}")


@app.command(context_settings=EXTRA)
def show(
    context: typer.Context,
    name: Name,
    sheet: Annotated[Path | None, typer.Option(help="draw a few images of every group to this PNG")] = None,
    sheet_split: Annotated[str, typer.Option(help="the split that examples are drawn from")] = "train",
    json: JsonFlag = False,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Show licence and citation, what is on this machine, and the group counts of every split.

    The data set's own parameters are flags: ftt data show dominoes --core-noise 0.2
    --sheet groups.png draws a few images of every group; of texts a few are printed.
    """
    from ftt import registry
    from ftt.cli.flags import parse
    from ftt.cli.screen import watched
    from ftt.data import Roots
    from ftt.data.grouped import SPLITS
    from ftt.errors import FttError, unknown
    from ftt.experiments.overview import overview

    if sheet_split not in SPLITS:
        raise unknown("split", sheet_split, SPLITS)
    roots = Roots.from_environment(cache, data)
    source = registry.DATASETS.get(name)
    chosen = source.from_options(parse(context.args, {"data": source})["data"])
    found = {collection.name: collection.found(roots) for collection in source.collections()}
    content = None
    with watched():
        if all(found.values()):
            loaded = chosen.load(roots)
            content = {**overview(loaded), **_examples(loaded, sheet, sheet_split)}
        elif sheet is not None:
            missing = ", ".join(part for part, there in found.items() if not there)
            raise FttError("there are no images to draw yet", given=f"{missing}: not here", hint=f"ftt data get {name}")
    if json:
        print_json({"info": vars(source.info), "found": found, "content": content})
        return
    _print(source.info, found, content)


def _examples(loaded: GroupedData, sheet: Path | None, split: str) -> dict[str, Any]:
    """A drawn sheet where one is asked for, and texts where the data are texts."""
    from ftt.report.contact import contact_sheet, save_sheet, text_examples

    shown: dict[str, Any] = {}
    if loaded.inputs.kind == "texts":
        shown["examples"] = text_examples(loaded, split)
    if sheet is not None:
        shown["sheet"] = str(save_sheet(contact_sheet(loaded, split), sheet))
    return shown


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
    _print_noise(console, content)
    for group in content.get("examples", ()):
        console.print(f"[bold]{group['label']} / {group['attribute']}[/bold]", highlight=False)
        for text in group["texts"]:
            console.print(f"  {text[:200]}{'…' * (len(text) > 200)}", markup=False, highlight=False)
    if "sheet" in content:
        console.print(f"  images of every group: {content['sheet']}", markup=False, highlight=False)


def _print_noise(console: Console, content: dict[str, Any]) -> None:
    """The noises as far as they are known, and how well the attribute tells the label, which needs no clean labels."""
    for split, noise in content["noise"].items():
        words = [f"{kind} {'not known' if value is None else format(value, '.1%')}" for kind, value in noise.items()]
        console.print(f"  noise in {split + ':':<6} {', '.join(words)}", highlight=False)
    rule = content["attribute_rule"]
    wrong = ", ".join(f"{split} {share:.1%}" for split, share in rule["disagrees"].items())
    says = "; ".join(f"{value} → {label}" for value, label in rule["predicts"].items())
    console.print(f"  the attribute alone ({says}) misses the label in: {wrong}", markup=False, highlight=False)
