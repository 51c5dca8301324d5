"""ftt results: what all runs gave, chosen, grouped and written in the format wanted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ftt.cli.common import HomeFlag, JsonFlag


def results(
    where: Annotated[str | None, typer.Option(help="a condition: \"data.core_noise = 0.2 and method = 'erm'\"")] = None,
    group_by: Annotated[
        str | None, typer.Option(help="means, standard errors and n by: recipe,data.core_noise")
    ] = None,
    columns: Annotated[str | None, typer.Option(help="columns to show, or figures to take means of; or all")] = None,
    format: Annotated[str, typer.Option(help="table, csv, parquet, latex, markdown or json")] = "table",
    out: Annotated[Path | None, typer.Option(help="write to this file")] = None,
    json: JsonFlag = False,
    home: HomeFlag = None,
) -> None:
    """Ask the results of all finished runs."""
    from ftt.store import Home, formats
    from ftt.store.query import ask, collect

    form = "json" if json else format
    formats.check(form)
    formats.need_file(form, out)
    runs = collect(Home.from_environment(home).runs.root)
    wanted = runs.column_names if columns == "all" else _names(columns)
    if not wanted and not group_by and form in ("csv", "json", "parquet"):
        # What a program reads on holds everything.
        wanted = runs.column_names
    groups = _names(group_by)
    found = ask(runs, where=where, group_by=groups, columns=wanted)
    if out is not None:
        formats.write(found, "markdown" if form == "table" else form, out)
    elif form != "table":
        sys.stdout.write(formats.as_text(found, form))
    else:
        from rich.console import Console

        from ftt.report.tables import plain_table

        console = Console(width=None if Console().is_terminal else 200)
        title = f"{found.num_rows} rows of {runs.num_rows} runs"
        console.print(plain_table(title, found.column_names, formats.cells(found), left=len(groups) or 4))


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()] if text else []
