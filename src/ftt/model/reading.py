"""New data without labels, a piece at a time: a folder or list of images, a table of texts, features of any size.

Memory depends on the size of a piece, never on the number of rows. What is wrong with one row is told with that row;
what is wrong with the whole file is an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from ftt.arrays import Float32Array
from ftt.data.columns import UNREADABLE
from ftt.data.files import exists, is_folder, printable, reason_of, require_regular
from ftt.data.images import in_threads
from ftt.data.inputs import ArrayInputs, Inputs
from ftt.data.npy import pieces_of_npy, pieces_of_npz
from ftt.data.pixels import FORMATS
from ftt.errors import FttError, unknown
from ftt.model.accepted import Accepted
from ftt.progress import say

TABLES = (".csv", ".parquet")
ARRAYS = (".npz", ".npy")


@dataclass(frozen=True)
class Piece:
    """Some rows: the name of each, what the model reads (n, …), and by row what is wrong with it."""

    names: list[str]
    batch: npt.NDArray[Any]
    errors: dict[int, str]


@dataclass(frozen=True)
class Source:
    """Where new data is.

    Attributes
    ----------
    path : Path
        A folder of images, an image, a list (.csv, .parquet), or features (.npz, .npy or a folder of them, a table).
    column : str, optional
        The column or array of the inputs; by default that of the data the model was fitted on.
    image_root : Path, optional
        Folder that the paths of a list are relative to; by default that of the list.
    """

    path: Path
    column: str | None = None
    image_root: Path | None = None

    def pieces(self, accepted: Accepted) -> Iterator[Piece]:
        """The rows in order; a source that does not suit the model is refused before the first is read."""
        if not exists(self.path):
            raise FttError(
                "there is no such file or folder", given=printable(self.path), allowed=SOURCES[accepted.kind]
            )
        suffix, folder = self.path.suffix.lower(), is_folder(self.path)
        column = self.column or accepted.column
        if not folder:
            require_regular(self.path, SOURCES[accepted.kind])
        if accepted.kind == "images" and (folder or suffix not in TABLES + ARRAYS):
            found = walk(self.path) if folder else iter([self.path.name])
            return _images(accepted, found, self.path if folder else self.path.parent)
        if accepted.kind == "images" and suffix in TABLES:
            root = self.image_root or self.path.parent
            return _images(
                accepted, (name for part in _columns(self.path, [column]) for name in part[column].to_pylist()), root
            )
        if accepted.kind == "texts" and suffix in TABLES:
            return _texts(accepted, self.path, column)
        if accepted.kind == "features" and (folder or suffix in TABLES + ARRAYS):
            return _features(accepted, self.path, column, folder)
        raise FttError(f"the model takes {accepted.kind}", given=printable(self.path), allowed=SOURCES[accepted.kind])


SOURCES = {
    "images": "a folder of images, an image, or a list (.csv or .parquet) with a column of paths",
    "texts": "a table (.csv or .parquet) with a column of texts",
    "features": "features as .npz, .npy, a folder of .npy files, .parquet or .csv",
}


def first_rows(source: Source, accepted: Accepted) -> Inputs:
    """The first readable rows of a source, for a comparison."""
    piece = next(source.pieces(accepted), None)
    rows = [] if piece is None else [row for row in range(len(piece.names)) if row not in piece.errors]
    if piece is None or not rows:
        raise FttError("no input can be read", given=printable(source.path), allowed=SOURCES[accepted.kind])
    return ArrayInputs(piece.batch[rows], accepted.kind)


def walk(root: Path) -> Iterator[str]:
    """Paths of image files below a folder, in order; others are counted and skipped."""
    suffixes = {suffix for suffix, kind in Image.registered_extensions().items() if kind in FORMATS}
    skipped, refused = 0, list[OSError]()
    for folder, subfolders, files in os.walk(root, onerror=refused.append):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        below = "" if folder == os.fspath(root) else os.path.relpath(folder, root)
        for name in sorted(files):
            if name.startswith("."):
                continue
            if os.path.splitext(name)[1].lower() in suffixes:  # noqa: PTH122 (a million files: no objects)
                yield os.path.join(below, name)  # noqa: PTH118
            else:
                skipped += 1
        while refused:
            # Listed like a file that cannot be read: its row then says why.
            yield os.path.relpath(refused.pop().filename, root)
    if skipped:
        say(f"skipped {skipped:,} files that are not named like images")


def _images(accepted: Accepted, names: Iterator[Any], root: Path) -> Iterator[Piece]:
    for listed in _batched(names, accepted.rows_at_once):
        shown = ["" if name is None else str(name) for name in listed]
        files = accepted.image_files([root / name for name in shown])
        found = list(in_threads(files.attempt, range(len(shown))))
        errors = {row: bad.reason for row, (_, _, bad) in enumerate(found) if bad is not None}
        errors |= {row: "the path is empty" for row, name in enumerate(shown) if not name}
        yield Piece(shown, np.stack([pixels for pixels, _, _ in found]), errors)


def _texts(accepted: Accepted, path: Path, column: str) -> Iterator[Piece]:
    start = 0
    for part in _columns(path, [column]):
        for texts in _batched(part[column].to_pylist(), accepted.rows_at_once):
            errors = {
                row: "the text is empty" for row, text in enumerate(texts) if text is None or not str(text).strip()
            }
            batch = np.array([str(text or "") for text in texts], dtype=np.dtypes.StringDType())
            yield Piece([str(start + row) for row in range(len(texts))], batch, errors)
            start += len(texts)


def _features(accepted: Accepted, path: Path, column: str, folder: bool) -> Iterator[Piece]:
    start = 0
    for rows in _rows_of(path, column, accepted, folder):
        if rows.ndim != 2 or rows.shape[1:] != accepted.shape or rows.dtype.kind not in "fiu":
            raise FttError(
                "the features do not fit the model",
                given=f"{printable(path)}: rows of shape {rows.shape[1:]}, type {rows.dtype}",
                allowed=f"rows of {accepted.shape[0]} numbers",
            )
        batch: Float32Array = rows.astype(np.float32)
        bad = np.flatnonzero(~np.isfinite(batch).all(axis=1))
        batch[bad] = 0
        names = [str(number) for number in range(start, start + len(batch))]
        yield Piece(names, batch, {int(row): "the row contains NaN or infinity" for row in bad})
        start += len(batch)


def _rows_of(path: Path, column: str, accepted: Accepted, folder: bool) -> Iterator[npt.NDArray[Any]]:
    """The features of a file, some rows at a time."""
    size = accepted.rows_at_once
    if folder or path.suffix.lower() == ".npy":
        file = path / f"{column}.npy" if folder else path
        if not exists(file):
            raise unknown(f"array in {path.name}", column, sorted(f.stem for f in path.glob("*.npy")), hint="--column")
        yield from _in_words(path, pieces_of_npy(file, size))
    elif path.suffix.lower() == ".npz":
        yield from _in_words(path, pieces_of_npz(path, column, size))
    else:
        names = _names(path)
        numbered = sorted(
            (name for name in names if re.fullmatch(rf"{re.escape(column)}_\d+", name)),
            key=lambda name: int(name.rsplit("_", 1)[1]),
        )
        for part in _columns(path, numbered or [column], numbers=True):
            if numbered:
                yield np.stack([part[name].to_numpy(zero_copy_only=False) for name in numbered], axis=1)
            else:
                yield _lists(part[column], path, column)


def _lists(column: Any, path: Path, name: str) -> npt.NDArray[Any]:
    """(n, d) of a column of lists."""
    lengths = {0 if row is None else len(row) for row in column} if hasattr(column, "flatten") else set()
    if len(lengths) != 1:
        raise FttError(
            f"column {name!r} of {path.name} is not a list of equally many numbers per row",
            given=f"lists of {', '.join(map(str, sorted(lengths)[:5]))}" if lengths else str(column.type),
            allowed=f"a list column, or columns {name}_0, {name}_1, …",
        )
    values: npt.NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(column), -1)


def _names(path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if path.suffix.lower() == ".parquet":
            found: list[str] = pa.parquet.read_schema(path).names
        else:
            with pa.csv.open_csv(path, parse_options=pa.csv.ParseOptions(newlines_in_values=True)) as reader:
                found = reader.schema.names
    except (pa.ArrowException, *UNREADABLE) as error:
        raise _unreadable(path, error) from None
    return found


def _columns(path: Path, wanted: list[str], *, numbers: bool = False) -> Iterator[Any]:
    """Columns of a table as record batches; texts unless they are `numbers`."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    names = _names(path)
    for name in wanted:
        if name not in names:
            raise unknown(f"column in {path.name}", name, names, hint="name the right one with --column")
    try:
        if path.suffix.lower() == ".parquet":
            with pa.parquet.ParquetFile(path) as file:
                yield from file.iter_batches(4096, columns=wanted)
            return
        convert = pa.csv.ConvertOptions(
            include_columns=wanted, column_types=dict.fromkeys(wanted, pa.float64() if numbers else pa.string())
        )
        parse = pa.csv.ParseOptions(newlines_in_values=True)
        with pa.csv.open_csv(path, parse_options=parse, convert_options=convert) as reader:
            yield from reader
    except FttError:
        raise
    except (pa.ArrowException, *UNREADABLE) as error:
        raise _unreadable(path, error) from None


def _in_words(path: Path, pieces: Iterator[npt.NDArray[Any]]) -> Iterator[npt.NDArray[Any]]:
    try:
        yield from pieces
    except FttError:
        raise
    except UNREADABLE as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: BaseException) -> FttError:
    reason = reason_of(error) if isinstance(error, OSError) else str(error) or type(error).__name__
    return FttError(f"{printable(path.name)} cannot be read", given=printable(reason.splitlines()[0]))


def _batched(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    left = iter(items)
    while part := list(islice(left, size)):
        yield part
