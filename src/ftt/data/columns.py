"""The user's tables: columns read from CSV, Parquet, npz or a folder of npy, and turned into codes with names."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ftt.data.grouped import SPLITS
from ftt.errors import FttError, unknown

Columns = Mapping[str, npt.NDArray[Any]]

SPLIT_NAMES = {"train": "train", "tr": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}
"""Spellings of the three splits that are understood; 0, 1, 2 are the codes of WILDS and DFR."""


def read_columns(path: Path, needed: Collection[str] | None = None) -> dict[str, npt.NDArray[Any]]:
    """Every column of a .csv, .parquet or .npz file or of a folder of .npy files.

    Those in `needed` (all by default) may have no empty cells.
    """
    if not path.exists():
        raise FttError("there is no such file", given=path, allowed="a .csv, .parquet or .npz file or a folder of .npy")
    try:
        if path.is_dir():
            return {f.stem: np.load(f, allow_pickle=False) for f in sorted(path.glob("*.npy"))}
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        if path.suffix in (".csv", ".parquet"):
            return _read_arrow(path, needed)
    except FttError:
        raise
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise FttError(
            f"{path.name} cannot be read",
            given=str(error).splitlines()[0],
            allowed="plain numbers and texts; arrays of Python objects (pickle) are never loaded",
        ) from None
    raise unknown("kind of file", path.suffix or path.name, (".csv", ".parquet", ".npz", "folder of .npy"))


def _read_arrow(path: Path, needed: Collection[str] | None) -> dict[str, npt.NDArray[Any]]:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    try:
        # Texts may hold line breaks inside quotes.
        lines = pyarrow.csv.ParseOptions(newlines_in_values=True)
        table = (
            pyarrow.csv.read_csv(path, parse_options=lines)
            if path.suffix == ".csv"
            else pyarrow.parquet.read_table(path)
        )
    except pa.ArrowInvalid as error:
        raise ValueError(str(error)) from None
    columns = {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        if column.null_count:
            if needed is not None and name not in needed:
                columns[name] = column.to_numpy(zero_copy_only=False).astype(str)
                continue
            row = next(i for i, value in enumerate(column.to_pylist()) if value is None)
            raise FttError(f"column {name!r} has empty cells", given=f"row {row}", allowed="a value in every row")
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        kinds = pa.types
        if kinds.is_list(column.type) or kinds.is_large_list(column.type) or kinds.is_fixed_size_list(column.type):
            columns[name] = _matrix(column, name)
        else:
            values = column.to_numpy(zero_copy_only=False)
            columns[name] = as_texts(values) if values.dtype == object else values
    return columns


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
            allowed="as many numbers in every row",
        )
    values: npt.NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(column), -1)


def need(columns: Columns, name: str, path: Path, flag: str) -> npt.NDArray[Any]:
    """One column, or an error that lists those there are and the flag that names another."""
    if name not in columns:
        raise unknown(f"column in {path.name}", name, columns, hint=f"name the right one with --{flag}")
    if columns[name].ndim != 1:
        raise FttError(
            f"column {name!r} is not one value per row", given=f"shape {columns[name].shape}", allowed="(rows,)"
        )
    return columns[name]


def encode(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """Codes 0..K-1 and names of a column of labels; numbers keep their order, texts are sorted."""
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise FttError("a label is not a number", given=f"{values[row]} in row {row}", allowed="a class per row")
        if (values == np.rint(values)).all():
            values = values.astype(np.int64)
    names, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64), tuple(str(name) for name in names)


def encode_like(values: npt.NDArray[Any], names: tuple[str, ...], label: str) -> npt.NDArray[np.int64]:
    """Codes of a second column (the clean labels) in the names of the first."""
    codes, own = encode(values)
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
    bad = sorted(set(spelled) - set(SPLITS))
    if bad:
        raise unknown("split", bad[0], SPLITS, hint="or the codes 0, 1, 2")
    return np.array(spelled)
