"""Predictions for new data, a piece at a time, and the files they are written to.

One row per input, in order: its path or number, the predicted class, its probability, the probability of every class,
and what is wrong with it where it could not be read; then there is no prediction.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ftt.arrays import BoolArray, FloatArray
from ftt.atomic import replacing
from ftt.errors import FttError
from ftt.model.model import Model
from ftt.model.reading import SOURCES, Piece, Source
from ftt.params import Json
from ftt.plain_text import csv_cell
from ftt.progress import track

FORMS = ("csv", "json", "parquet")


@dataclass
class Summary:
    """What a prediction of many rows came to: rows, those that could not be read, and how often each class."""

    rows: int = 0
    unreadable: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Json]:
        return {"rows": self.rows, "unreadable": self.unreadable, "counts": dict(self.counts)}

    def __str__(self) -> str:
        each = ", ".join(f"{name} {count:,}" for name, count in self.counts.most_common())
        failed = f"; {self.unreadable:,} could not be read, see the column 'error'" if self.unreadable else ""
        return f"{self.rows:,} rows: {each or 'no predictions'}{failed}"


def stream(model: Model, source: Source, summary: Summary | None = None) -> Iterator[pa.RecordBatch]:
    """Predictions as record batches; `summary`, where given, is kept up to date. A source without rows is refused."""
    summary = summary or Summary()
    for piece in track(source.pieces(model.accepted), f"predicting {model.accepted.kind}", total=0):
        batch = _predicted(model, piece)
        summary.rows += batch.num_rows
        summary.unreadable += len(piece.errors)
        summary.counts.update(name for name in batch["label"].to_pylist() if name is not None)
        yield batch
    if not summary.rows:
        raise FttError("there is nothing to predict", given=source.path, allowed=SOURCES[model.accepted.kind])


def _predicted(model: Model, piece: Piece) -> pa.RecordBatch:
    # Rows that cannot be read are blank in the batch; what the model makes of them is left out.
    chances, errors = model.probabilities(piece.batch), piece.errors
    there = np.ones(len(chances), dtype=bool)
    there[list(errors)] = False
    labels = [name if good else None for name, good in zip(model.names(chances).tolist(), there.tolist(), strict=True)]
    columns = [_texts(piece.names), _texts(labels)]
    columns += [_numbers(column, there) for column in (chances.max(axis=1), *chances.T)]
    columns.append(_texts([errors.get(row) for row in range(len(chances))]))
    return pa.RecordBatch.from_arrays(columns, schema=schema(model))


# Columns are made from their bytes: `pyarrow.array` imports pandas, which takes half a second and forty megabytes.


def _numbers(column: FloatArray, there: BoolArray) -> pa.Array:
    """A column of numbers with nulls where they are not there."""
    return pa.Array.from_buffers(
        pa.float64(), len(column), [_bits(there), pa.py_buffer(column.astype("<f8").tobytes())]
    )


def _texts(values: Sequence[str | None]) -> pa.Array:
    """A column of texts; None is null, and a name that is not UTF-8 has escapes."""
    there = np.array([value is not None for value in values], dtype=bool)
    encoded = [(value or "").encode("utf-8", "backslashreplace") for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype="<i4")
    parts = [_bits(there), pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), parts)


def _bits(there: BoolArray) -> pa.Buffer:
    return pa.py_buffer(np.packbits(there, bitorder="little").tobytes())


def schema(model: Model) -> pa.Schema:
    """Names and types of the columns."""
    first = "path" if model.accepted.kind == "images" else "row"
    numbers = ["probability", *(f"p_{name}" for name in model.classes)]
    texts = [(first, pa.string()), ("label", pa.string())]
    return pa.schema([*texts, *((name, pa.float64()) for name in numbers), ("error", pa.string())])


def write(model: Model, source: Source, form: str, out: Path | None) -> Summary:
    """Write predictions to a file, whole or not at all, or to standard output; memory does not grow with the rows."""
    summary = Summary()
    sinks: dict[
        str, Callable[[IO[bytes], Model, Summary], AbstractContextManager[Callable[[pa.RecordBatch], None]]]
    ] = {
        "csv": _csv,
        "json": _json,
        "parquet": _parquet,
    }
    with _opened(form, out) as stream_out, sinks[form](stream_out, model, summary) as put:
        for batch in stream(model, source, summary):
            put(batch)
    return summary


@contextmanager
def _opened(form: str, out: Path | None) -> Iterator[IO[bytes]]:
    if out is not None:
        with replacing(out) as scratch, scratch.open("wb") as opened:
            yield opened
        return
    if form == "parquet":
        raise FttError("Parquet needs a file", given="standard output", allowed="a file", hint="--parquet out.parquet")
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


@contextmanager
def _csv(out: IO[bytes], model: Model, summary: Summary) -> Iterator[Callable[[pa.RecordBatch], None]]:
    names = [csv_cell(name) for name in schema(model).names]
    harmless = pa.schema([(name, old.type) for name, old in zip(names, schema(model), strict=True)])
    options = pa.csv.WriteOptions(quoting_style="needed")
    with pa.csv.CSVWriter(out, harmless, write_options=options) as writer:

        def put(batch: pa.RecordBatch) -> None:
            columns = [_harmless(column) if pa.types.is_string(column.type) else column for column in batch.columns]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=harmless))

        yield put


def _harmless(column: pa.Array) -> pa.Array:
    """Texts that no spreadsheet takes for formulas."""
    if column.null_count == len(column):
        return column
    coded = column.dictionary_encode()
    known = _texts([csv_cell(value) for value in coded.dictionary.to_pylist()])
    return pa.DictionaryArray.from_arrays(coded.indices, known).dictionary_decode()


@contextmanager
def _json(out: IO[bytes], model: Model, summary: Summary) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """One object, written as it comes: classes, predictions, then the summary."""
    out.write(f'{{"classes": {json.dumps(list(model.classes))},\n"predictions": ['.encode())
    first = True

    def put(batch: pa.RecordBatch) -> None:
        nonlocal first
        lines = [json.dumps(_without_nulls(row)) for row in batch.to_pylist()]
        if lines:
            out.write(("" if first else ",").encode() + ("\n" + ",\n".join(lines)).encode())
            first = False

    yield put
    out.write(f'],\n"summary": {json.dumps(summary.to_json())}}}\n'.encode())


@contextmanager
def _parquet(out: IO[bytes], model: Model, summary: Summary) -> Iterator[Callable[[pa.RecordBatch], None]]:
    with pa.parquet.ParquetWriter(out, schema(model)) as writer:
        yield writer.write_batch


def _without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}
