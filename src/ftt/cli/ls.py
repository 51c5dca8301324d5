"""ftt ls: what is on offer."""

from __future__ import annotations

from typing import Annotated

import typer

from ftt.cli.common import JsonFlag, print_json
from ftt.errors import unknown

KINDS = ("datasets", "backbones", "freezers", "methods", "recipes", "experiments")


def ls(
    kind: Annotated[str | None, typer.Argument(help=", ".join(KINDS))] = None,
    json: JsonFlag = False,
) -> None:
    """List data sets, backbones, freezers, methods and recipes."""
    if kind is not None and kind not in KINDS:
        raise unknown("list", kind, KINDS)
    lists = {name: _entries(name) for name in ([kind] if kind else KINDS)}
    if json:
        print_json(lists)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("kind", style="dim")
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("what it is")
    for name, entries in lists.items():
        for number, (entry, summary) in enumerate(entries.items()):
            table.add_row("" if number else name, entry, summary)
        table.add_section()
    Console().print(table)


def _entries(kind: str) -> dict[str, str]:
    from ftt import registry

    if kind == "recipes":
        from ftt.train.recipe import PRESETS

        return {name: preset.summary for name, preset in PRESETS.items()}
    if kind == "experiments":
        from ftt.experiments.catalogue import EXPERIMENTS

        return {name: experiment.question for name, experiment in EXPERIMENTS.items()}
    offered: registry.Registry = getattr(registry, kind.upper())
    return {name: entry.summary for name, entry in offered.entries().items()}
