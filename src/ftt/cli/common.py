"""Flags that many commands share, and where results go."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from ftt.report.tables import TextTable

HomeFlag = Annotated[Path | None, typer.Option("--home", help="runs and artifacts [env: FTT_HOME, default ./ftt-home]")]
CacheFlag = Annotated[Path | None, typer.Option("--cache", help="fetched files [env: FTT_CACHE, default ~/.cache/ftt]")]
DataFlag = Annotated[Path | None, typer.Option("--data", help="folder with one folder per data set [env: FTT_DATA]")]
ThreadsFlag = Annotated[int | None, typer.Option("--threads", min=1, max=1024, help="threads of torch and BLAS")]
JsonFlag = Annotated[bool, typer.Option("--json", help="print one JSON object on standard output and nothing else")]

EXTRA = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Settings of a command whose further flags are parameters (`ftt.cli.flags`)."""

WIDTH = 160
"""Columns of tables that are not printed to a terminal."""


def print_json(content: Any) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(json.dumps(content, indent=2, sort_keys=True) + "\n")


def print_lines(*lines: RenderableType, style: str | None = None) -> None:
    """Lines and tables on standard output. Texts are shown as they are: nothing in them is markup or a command."""
    from rich.console import Console

    from ftt.plain_text import printable

    console = Console(markup=False, highlight=False)
    if not console.is_terminal:
        console = Console(markup=False, highlight=False, width=WIDTH)
    for line in lines:
        if isinstance(line, str):
            console.print(printable(line), style=style, soft_wrap=True)
        else:
            console.print(line, style=style)


def shown(text: str, style: str = "") -> Text:
    """A text for a table made here, where nothing in it is markup or a command."""
    from rich.text import Text

    from ftt.plain_text import printable

    return Text(printable(text), style)


def print_table(table: TextTable) -> None:
    """A table of texts on standard output."""
    print_lines(table.to_rich())
