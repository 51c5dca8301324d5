"""ftt results: finished runs, filtered, grouped and written in several formats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ftt.cli.common import HomeFlag, JsonFlag, print_table


def results(
    where: Annotated[str | None, typer.Option(help="condition: \"data.core_noise = 0.2 and recipe = 'ftt'\"")] = None,
    group_by: Annotated[
        str | None, typer.Option(help="mean, standard error and n over seeds, by these columns: recipe,data.core_noise")
    ] = None,
    columns: Annotated[str | None, typer.Option(help="columns to show, or figures to average; or all")] = None,
    format: Annotated[str, typer.Option(help="table, csv, parquet, latex, markdown or json")] = "table",
    out: Annotated[Path | None, typer.Option(help="write to this file")] = None,
    json: JsonFlag = False,
    home: HomeFlag = None,
) -> None:
    """Query finished runs: one row per run, or means over seeds."""
    from ftt.report import formats
    from ftt.report.tables import TextTable
    from ftt.store import Home
    from ftt.store.query import collect, query

    form = "json" if json else format
    formats.check(form)
    formats.need_file(form, out)
    runs = collect(Home.from_environment(home).runs)
    wanted = runs.column_names if columns == "all" else _names(columns)
    if not wanted and not group_by and form in ("csv", "json", "parquet"):
        # Formats that programs read get every column.
        wanted = runs.column_names
    groups = _names(group_by)
    found = query(runs, where=where, group_by=groups, columns=wanted)
    if out is not None:
        formats.write(found, "markdown" if form == "table" else form, out)
    elif form != "table":
        sys.stdout.write(formats.as_text(found, form))
    else:
        title = f"{found.num_rows} rows of {runs.num_rows} runs"
        print_table(TextTable(title, found.column_names, formats.cells(found), left=len(groups) or 4))


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()] if text else []
