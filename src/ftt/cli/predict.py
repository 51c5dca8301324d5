"""ftt predict: classes and probabilities of data without labels, by a saved model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ftt.cli.common import ThreadsFlag
from ftt.errors import FttError

SOME_UNREADABLE = 1
"""Exit code where predictions were written but some rows could not be read."""


def predict(
    model: Annotated[Path, typer.Argument(help="folder of a saved model (ftt run --save, ftt save)")],
    source: Annotated[Path, typer.Argument(help="images/, list.csv, texts.csv, features.npz, …")],
    out: Annotated[Path | None, typer.Argument(help="file to write; standard output if not given")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="write CSV (default)")] = False,
    json: Annotated[bool, typer.Option("--json", help="write one JSON object")] = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="write Parquet")] = False,
    column: Annotated[
        str | None, typer.Option(help="column of paths or texts, or array of features; default: as in training")
    ] = None,
    text: Annotated[str | None, typer.Option(help="the same, for a column of texts")] = None,
    image_root: Annotated[Path | None, typer.Option(help="folder that paths of a list are relative to")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="predict the second of two classes above this probability")
    ] = None,
    threads: ThreadsFlag = None,
) -> None:
    """Predict classes of new data, which needs no labels.

    One row per input: path or row number, label, probability, the probability of every class, and an error where the
    input cannot be read. Exit code 0: every row was predicted; 1: some could not be read; 2: nothing was written.

    ftt predict model images/ --csv predictions.csv
    """
    form = _form(csv, json, parquet, out)
    from ftt import threads as pools
    from ftt.cli.screen import watched
    from ftt.model import Model
    from ftt.model.model import checked_threshold
    from ftt.model.predicting import write
    from ftt.model.reading import Source
    from ftt.progress import say

    loaded = Model.load(model)
    if threshold is not None:
        loaded.threshold = checked_threshold(threshold, len(loaded.classes))
    with watched(), pools.limited_to(threads or pools.available()):
        summary = write(loaded, Source(source, text or column, image_root), form, out)
        say(f"{summary}" + (f"; written to {out}" if out else ""))
    if summary.unreadable:
        sys.stdout.flush()
        raise typer.Exit(SOME_UNREADABLE)


def _form(csv: bool, json: bool, parquet: bool, out: Path | None) -> str:
    """The format that a flag names, or the ending of the file."""
    named = [form for form, wanted in (("csv", csv), ("json", json), ("parquet", parquet)) if wanted]
    if len(named) > 1:
        raise FttError("predictions are written in one format", given=" and ".join(f"--{form}" for form in named))
    ending = out.suffix.lower().removeprefix(".") if out else ""
    form = named[0] if named else ending if ending in ("json", "parquet") else "csv"
    if form == "parquet" and out is None:
        raise FttError("Parquet needs a file", given="standard output", allowed="--parquet predictions.parquet")
    return form
