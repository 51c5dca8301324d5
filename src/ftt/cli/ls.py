"""ftt ls: what can be chosen by name."""

from __future__ import annotations

from typing import Annotated

import typer

from ftt.cli.common import JsonFlag, print_json, print_lines
from ftt.cli.names import one_of

KINDS = ("datasets", "backbones", "freezers", "methods", "recipes", "experiments")
Kind = Annotated[
    str | None, typer.Argument(help=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}", autocompletion=one_of(*KINDS))
]


def ls(kind: Kind = None, json: JsonFlag = False) -> None:
    """List data sets, backbones, freezers, methods, recipes and experiments."""
    from ftt import api

    lists = api.ls(kind)
    if json:
        print_json(lists)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("kind", style="dim")
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("summary")
    for name, entries in lists.items():
        for number, (entry, summary) in enumerate(entries.items()):
            table.add_row("" if number else name, Text(entry), Text(summary))
        table.add_section()
    print_lines(table)
