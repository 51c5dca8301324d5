"""ftt data: fetch a data set, check one that was placed, or show its groups, noise and licence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ftt.cli.common import EXTRA, CacheFlag, DataFlag, JsonFlag, print_json, print_lines, shown
from ftt.cli.loudness import App
from ftt.cli.names import DatasetArgument

if TYPE_CHECKING:
    from ftt.data import GroupedData

app = App(help="Fetch data sets, or show their groups, noise and licence.", no_args_is_help=True)


@app.command()
def get(name: DatasetArgument, cache: CacheFlag = None, data: DataFlag = None) -> None:
    """Fetch everything a data set needs, and verify it."""
    from ftt import registry
    from ftt.cli.screen import watched
    from ftt.data import Roots

    roots = Roots.from_environment(cache, data)
    source = registry.DATASETS.get(name)
    with watched():
        for collection in source.collections():
            for path in collection.obtain(roots).values():
                print_lines(f"{collection.name}: {path}")
    if source.collections():
        return
    if source.paths:
        print_lines(f"{name} reads your own files: {source.info.how_to_get}")
    elif (place := source.find(roots)) is not None:
        print_lines(f"{name}: {place}")
    else:
        print_lines(f"{name} needs no files: {source.info.how_to_get}")


@app.command()
def check(name: DatasetArgument, json: JsonFlag = False, cache: CacheFlag = None, data: DataFlag = None) -> None:
    """Compare a folder that you placed with the published data set: counts of every part, and missing images.

    Exit code 1 means that something differs.
    """
    from ftt import registry
    from ftt.cli.screen import watched
    from ftt.data import Roots
    from ftt.data.placed_check import check_placed

    with watched():
        found = check_placed(registry.DATASETS.build({"name": name}), Roots.from_environment(cache, data))
    if json:
        print_json(found.to_json())
    else:
        for line in found.lines():
            print_lines(line)
    if not found.complete:
        raise typer.Exit(1)


@app.command(context_settings=EXTRA)
def show(
    context: typer.Context,
    name: DatasetArgument,
    sheet: Annotated[Path | None, typer.Option(help="draw a few images of every group to this PNG file")] = None,
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
    from ftt.data.overview import overview
    from ftt.errors import FttError, unknown

    if sheet_split not in SPLITS:
        raise unknown("split", sheet_split, SPLITS)
    roots = Roots.from_environment(cache, data)
    source = registry.DATASETS.get(name)
    given = parse(context.args, {"data": source})
    chosen = source.from_options({field.partition(".")[2]: value for field, value in given.items()})
    found = {collection.name: collection.found(roots) for collection in source.collections()}
    content = None
    with watched():
        if all(found.values()):
            loaded = chosen.load(roots)
            content = {**overview(loaded), **_examples(loaded, sheet, sheet_split)}
        elif sheet is not None:
            missing = ", ".join(part for part, there in found.items() if not there)
            raise FttError("the images are not available yet", given=f"missing: {missing}", hint=f"ftt data get {name}")
    if json:
        print_json({"info": vars(source.info), "found": found, "content": content})
        return
    _print(source.info, found, content)


def _examples(loaded: GroupedData, sheet: Path | None, split: str) -> dict[str, Any]:
    """A drawn sheet where one is asked for, and texts where the data are texts."""
    from ftt.data.contact_sheet import contact_sheet, save_sheet, text_examples

    shown: dict[str, Any] = {}
    if loaded.inputs.kind == "texts":
        shown["examples"] = text_examples(loaded, split)
    if sheet is not None:
        shown["sheet"] = str(save_sheet(contact_sheet(loaded, split), sheet))
    return shown


def _print(info: Any, found: dict[str, bool], content: dict[str, Any] | None) -> None:
    from rich.table import Table
    from rich.text import Text

    print_lines(Text.assemble((info.name, "bold"), f"  {info.summary}"))
    for label, value in (("licence", info.licence), ("cite", info.citation), ("get it", info.how_to_get)):
        if value:
            print_lines(f"  {label + ':':<9}{value}")
    for name, there in found.items():
        print_lines(f"  {name}: {'available' if there else 'not available yet: ftt data get ' + info.name}")
    if content is None:
        return
    table = Table(box=None, header_style="bold")
    for column in ("split", "label", *content["attributes"], "rows"):
        table.add_column(shown(column))
    for split, counts in content["counts"].items():
        for label, row in zip(content["classes"], counts, strict=True):
            table.add_row(split, shown(label), *map(str, row), str(sum(row)))
        table.add_section()
    print_lines(table)
    _print_noise(content)
    for group in content.get("examples", ()):
        print_lines(f"{group['label']} / {group['attribute']}", style="bold")
        for text in group["texts"]:
            print_lines(f"  {text[:200]}{'…' * (len(text) > 200)}")
    if "sheet" in content:
        print_lines(f"  images of every group: {content['sheet']}")


def _print_noise(content: dict[str, Any]) -> None:
    """The noises as far as they are known, and how well the attribute predicts the label, without clean labels."""
    for split, noise in content["noise"].items():
        words = [f"{kind} {'unknown' if value is None else format(value, '.1%')}" for kind, value in noise.items()]
        print_lines(f"  noise in {split + ':':<6} {', '.join(words)}")
    rule = content["attribute_rule"]
    wrong = ", ".join(f"{split} {share:.1%}" for split, share in rule["disagrees"].items())
    says = "; ".join(f"{value} → {label}" for value, label in rule["predicts"].items())
    print_lines(f"  share of labels that the attribute alone ({says}) misses: {wrong}")
