"""ftt reproduce: an experiment by name, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ftt.cli.common import CacheFlag, DataFlag, HomeFlag, JsonFlag, ThreadsFlag, print_json


def reproduce(
    name: Annotated[str, typer.Argument(help="a name of: ftt ls experiments")],
    seeds: Annotated[int, typer.Option(min=1, help="training seeds of every cell")] = 2,
    out: Annotated[Path | None, typer.Option(help="also write the table as Markdown")] = None,
    json: JsonFlag = False,
    threads: ThreadsFlag = None,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Run a named experiment and print its table; what was run before comes from the store."""
    from ftt import threads as pools
    from ftt.atomic import replacing
    from ftt.cli.screen import watched
    from ftt.data import Places
    from ftt.experiments.catalogue import find
    from ftt.experiments.tables import as_markdown, as_rows, measure
    from ftt.store import Home

    experiment = find(name)
    with watched(), pools.limited_to(threads or pools.available()):
        measured = measure(experiment, seeds, Home.from_environment(home), Places.from_environment(cache, data))
    if out is not None:
        with replacing(out) as scratch:
            scratch.write_text(as_markdown(experiment, seeds, measured))
    if json:
        cells = [
            {"row": m.cell.row, "column": m.cell.column, "results": [{**r, "train_log": None} for r in m.results]}
            for m in measured
        ]
        print_json({"name": name, "seeds": seeds, "cells": cells})
        return
    from rich.console import Console

    from ftt.report.tables import plain_table

    columns, rows = as_rows(measured)
    console = Console(width=None if Console().is_terminal else 120)
    console.print(f"{experiment.question}", style="italic")
    console.print(plain_table(experiment.title, columns, rows, left=1))
    console.print(
        f"worst-group accuracy in %, mean ± half range of {seeds} training seeds (average accuracy)", style="dim"
    )
