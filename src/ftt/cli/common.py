"""Flags that many commands share, and where results go."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

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
    """Lines and tables on standard output. Texts are printed as they are: nothing in them is markup."""
    from rich.console import Console

    console = Console(markup=False, highlight=False)
    if not console.is_terminal:
        console = Console(markup=False, highlight=False, width=WIDTH)
    for line in lines:
        console.print(line, style=style, soft_wrap=isinstance(line, str))


def print_table(table: TextTable) -> None:
    """A table of texts on standard output."""
    print_lines(table.to_rich())
