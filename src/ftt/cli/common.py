"""Flags that many commands share, and where results go."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from ftt.report.tables import TextTable
    from ftt.runs.plan import Plan

HomeFlag = Annotated[Path | None, typer.Option("--home", help="runs and artifacts [env: FTT_HOME, default ./ftt-home]")]
CacheFlag = Annotated[Path | None, typer.Option("--cache", help="fetched files [env: FTT_CACHE, default ~/.cache/ftt]")]
DataFlag = Annotated[Path | None, typer.Option("--data", help="folder with one folder per data set [env: FTT_DATA]")]
ThreadsFlag = Annotated[int | None, typer.Option("--threads", min=1, max=1024, help="threads of torch and BLAS")]
ReportFlag = Annotated[Path | None, typer.Option("--report", help="write a page too: one HTML file, no network needed")]
JsonFlag = Annotated[bool, typer.Option("--json", help="print one JSON object on standard output and nothing else")]
DryRunFlag = Annotated[
    bool, typer.Option("--dry-run", help="say what would be trained and about how long it would take, and exit")
]

EXTRA = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Settings of a command whose further flags are parameters (`ftt.cli.flags`)."""

LONG = 500
"""Rows from which on a table is printed as plain lines."""


def print_json(content: Any) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(json.dumps(content, indent=2, sort_keys=True) + "\n")


def command_line() -> str:
    """The command as it was typed, for pages that say how they were made."""
    words = [word for word in sys.argv[1:] if word != "--open"]
    return shlex.join(["ftt", *words])


def print_lines(*lines: RenderableType, style: str | None = None) -> None:
    """Lines and tables on standard output. Texts are shown as they are: nothing in them is markup or a command."""
    from rich.console import Console

    from ftt.plain_text import printable

    # As wide as the terminal; in a pipe or a file as wide as COLUMNS says, or 80.
    console = Console(markup=False, highlight=False)
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
    """A table of texts on standard output; a long one without lines and colours, which would take seconds."""
    if len(table.rows) > LONG:
        sys.stdout.write("\n".join(table.to_lines()) + "\n")
    else:
        print_lines(table.to_rich())


def print_plan(plan: Plan, json: bool) -> None:
    """What a command with ``--dry-run`` says instead of running."""
    if json:
        print_json(plan.to_json())
        return
    if plan.works:
        print_table(plan.table())
    print_lines(*plan.sentences())
