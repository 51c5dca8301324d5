"""The user's tables: columns read from CSV, Parquet, npz or a folder of npy, and turned into codes with names."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ftt.data.files import exists, is_folder, printable, require_regular
from ftt.data.grouped import SPLITS
from ftt.data.npy import SMALL, read_npy, read_npz
from ftt.errors import FttError, unknown

Columns = Mapping[str, npt.NDArray[Any]]

SPLIT_NAMES = {"train": "train", "tr": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}
"""Spellings of the three splits that are understood; 0, 1, 2 are the codes of WILDS and DFR."""


def read_columns(
    path: Path, needed: Collection[str] | None = None, *, without: Collection[str] = ()
) -> dict[str, npt.NDArray[Any]]:
    """Every column of a .csv, .parquet or .npz file or of a folder of .npy files.

    Those in `needed` (all by default) may have no empty cells. Of a folder, the files named in `without` are left out.
    """
    if not exists(path):
        raise FttError(
            "there is no such file",
            given=printable(path),
            allowed="a .csv, .parquet or .npz file or a folder of .npy files",
        )
    try:
        if is_folder(path):
            files = sorted(file for file in path.glob("*.npy") if file.stem not in without)
            return {file.stem: read_npy(file) for file in files}
        require_regular(path, "a .csv, .parquet or .npz file or a folder of .npy files")
        if path.suffix == ".npz":
            return read_npz(path)
        if path.suffix in (".csv", ".parquet"):
            return _read_arrow(path, needed)
    except FttError:
        raise
    except UNREADABLE as error:
        raise _unreadable(path, error) from None
    raise unknown("kind of file", path.suffix or path.name, (".csv", ".parquet", ".npz", "folder of .npy"))


UNREADABLE = (
    *(ValueError, TypeError, KeyError, SyntaxError, OverflowError, RuntimeError, RecursionError, NotImplementedError),
    *(OSError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error),
)
"""What NumPy, pyarrow and zipfile raise at files that are damaged or hostile; a fuzz of the readers found them all."""


def _unreadable(path: Path, error: BaseException) -> FttError:
    return FttError(
        f"{printable(path.name)} cannot be read",
        given=printable((str(error) or type(error).__name__).splitlines()[0]),
        allowed="plain numbers and texts; arrays of Python objects (pickle) are never loaded",
    )


def _read_arrow(path: Path, needed: Collection[str] | None) -> dict[str, npt.NDArray[Any]]:
    import pyarrow as pa

    try:
        table = _csv(path) if path.suffix == ".csv" else _parquet(path)
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None
    names = table.column_names
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise FttError(
            f"{path.name} has several columns called {printable(twice[0])!r}",
            given=printable(", ".join(names)),
            allowed="every column once",
        )
    try:
        return {name: _values(table[name].combine_chunks(), name, needed is None or name in needed) for name in names}
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None


def _csv(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.csv

    try:
        # Texts may hold line breaks inside quotes.
        return pyarrow.csv.read_csv(path, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True))
    except pa.ArrowInvalid as error:
        if "straddl" in str(error):
            raise FttError(
                f"{path.name} has a row of more than a million characters",
                given="a longer row, or a quotation mark that is never closed",
                allowed="rows of at most 1 MB",
            ) from None
        raise


def _parquet(path: Path) -> Any:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        # A constant column takes a few bytes however long it is.
        cells = file.metadata.num_rows * max(1, file.metadata.num_columns)
        if cells * 8 > max(SMALL, 1000 * path.stat().st_size):
            raise FttError(
                f"{path.name} is far larger in memory than on disk",
                given=f"{file.metadata.num_rows:,} rows of {file.metadata.num_columns} columns",
                allowed=f"at most {max(SMALL, 1000 * path.stat().st_size):,} bytes",
            )
        return file.read()


def _values(column: Any, name: str, needed: bool) -> npt.NDArray[Any]:
    """One column of an Arrow table as an array; only one that is not needed may have empty cells."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_binary(column.type) or kinds.is_large_binary(column.type):
        column = pa.array([_decoded(value, name, row, needed) for row, value in enumerate(column.to_pylist())])
    if column.null_count:
        if not needed:
            empty: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False).astype(str)
            return empty
        row = next(row for row, value in enumerate(column.to_pylist()) if value is None)
        raise FttError(f"column {name!r} has empty cells", given=f"row {row}", allowed="a value in every row")
    if kinds.is_dictionary(column.type):
        column = column.dictionary_decode()
    if kinds.is_list(column.type) or kinds.is_large_list(column.type) or kinds.is_fixed_size_list(column.type):
        return _matrix(column, name)
    # `to_numpy` imports pandas where it is installed, which takes longer than reading a list of 20,000 rows.
    if kinds.is_integer(column.type) or kinds.is_floating(column.type):
        numbers: npt.NDArray[Any] = np.from_dlpack(column)
        return numbers
    if kinds.is_string(column.type) or kinds.is_large_string(column.type):
        return as_texts(column.to_pylist())
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return as_texts(values) if values.dtype == object else values


def _decoded(value: bytes | None, name: str, row: int, needed: bool) -> str | None:
    """A cell that is not UTF-8 is read as bytes by Arrow."""
    try:
        return None if value is None else value.decode("utf-8", "strict" if needed else "replace")
    except UnicodeDecodeError:
        raise FttError(
            f"column {printable(name)!r} is not UTF-8 text",
            given=f"row {row}: {value!r:.80}",
            allowed="UTF-8",
            hint="save the table again with UTF-8 encoding",
        ) from None


def as_texts(values: npt.NDArray[Any] | list[str]) -> npt.NDArray[Any]:
    """An array of texts; long ones at their own length each, since the usual type gives all that of the longest."""
    long = any(len(str(value)) > 256 for value in values)
    return np.array(values, dtype=np.dtypes.StringDType() if long else str)


def _matrix(column: Any, name: str) -> npt.NDArray[Any]:
    """(rows, dimensions) of a column of lists."""
    import pyarrow.compute

    lengths = pyarrow.compute.list_value_length(column).to_numpy(zero_copy_only=False)
    if len(np.unique(lengths)) != 1:
        raise FttError(
            f"the rows of column {name!r} differ in length",
            given=", ".join(str(length) for length in np.unique(lengths)[:5]) or "no rows",
            allowed="the same number of values in every row",
        )
    values: npt.NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(column), -1)


def need(columns: Columns, name: str, path: Path, flag: str) -> npt.NDArray[Any]:
    """One column, or an error that lists the columns and the flag that names another."""
    if name not in columns:
        raise unknown(f"column in {path.name}", name, columns, hint=f"name the right one with --{flag}")
    if columns[name].ndim != 1:
        raise FttError(
            f"column {name!r} is not one value per row", given=f"shape {columns[name].shape}", allowed="(rows,)"
        )
    return columns[name]


EXACT = 2**53
"""From here on a float64 no longer holds every whole number, so that two labels could become one."""


def encode(values: npt.NDArray[Any], name: str = "the label") -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """Codes 0..K-1 and names of a column of labels; numbers keep their order, texts are sorted.

    Parameters
    ----------
    values : (n,) array of numbers or texts
    name : str
        What the column is called in messages.
    """
    kind = values.dtype.kind
    if kind == "f":
        _refuse_rows(~np.isfinite(values), values, f"{name} is not a number", "one class per row")
        _refuse_rows(np.abs(values) >= EXACT, values, f"{name} is too large to be exact", "whole numbers below 2**53")
        if (values == np.rint(values)).all():
            values = values.astype(np.int64)
    elif kind == "u":
        _refuse_rows(values >= np.uint64(2**63), values, f"{name} is too large", "whole numbers below 2**63")
    elif kind in "UT":
        empty = np.array([not str(value).strip() for value in values], dtype=bool)
        _refuse_rows(empty, values, f"{name} is empty", "a value in every row")
    elif kind not in "ibM":
        raise FttError(f"{name} is not made of numbers or texts", given=values.dtype, allowed="whole numbers or texts")
    names, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64), tuple(str(name) for name in names)


def _refuse_rows(bad: npt.NDArray[np.bool_], values: npt.NDArray[Any], problem: str, allowed: str) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        shown = printable(values[row]) or "''"
        raise FttError(problem, given=f"{shown} in row {row}", allowed=allowed, hint="repair or drop this row")


def encode_like(values: npt.NDArray[Any], names: tuple[str, ...], label: str) -> npt.NDArray[np.int64]:
    """Codes of a second column (the clean labels) in the names of the first."""
    codes, own = encode(values, f"the {label}")
    missing = sorted(set(own) - set(names))
    if missing:
        raise unknown(label, missing[0], names)
    return np.array([names.index(name) for name in own], dtype=np.int64)[codes]


def parse_split(values: npt.NDArray[Any]) -> npt.NDArray[np.str_]:
    """Column of splits as "train", "val", "test"; 0, 1, 2 and common spellings are understood."""
    if values.dtype.kind in "iu":
        codes = {0: "train", 1: "val", 2: "test"}
        spelled = [codes.get(int(value), str(value)) for value in values]
    else:
        spelled = [SPLIT_NAMES.get(str(value).lower(), str(value)) for value in values]
    for row, name in enumerate(spelled):
        if name not in SPLITS:
            raise unknown("split", printable(name), SPLITS, hint=f"or the codes 0, 1, 2 (row {row})")
    return np.array(spelled)
