"""The rows of an audit from a table: CSV, Parquet, npz or a folder of npy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ftt.arrays import BoolArray
from ftt.data.columns import Columns, parse_split, read_columns
from ftt.diagnosis.auditing import Rows
from ftt.errors import FttError, unknown


@dataclass(frozen=True)
class Named:
    """What the columns of the table are called.

    Attributes
    ----------
    label, prediction, split, features, probabilities, ids : str
        Columns; all but the label may be absent.
    attributes : sequence of str
        Columns that rows are grouped by.
    other : str, optional
        Predictions of another classifier, to compare with.
    audited : str
        The split that is audited, where there is a column of splits.
    """

    label: str = "y"
    attributes: Sequence[str] = ("attribute",)
    prediction: str = "predicted"
    other: str | None = None
    split: str = "split"
    features: str = "features"
    probabilities: str = "probabilities"
    ids: str = "id"
    audited: str = "test"


def read_rows(path: Path, named: Named | None = None) -> Rows:
    """Read a table; where it has splits, one of them is audited and the training rows give the weights of groups."""
    named = named or Named()
    columns = read_columns(path, needed={named.label, *named.attributes, named.prediction, named.other or ""})
    if named.prediction != Named.prediction:
        need(columns, path.name, [named.label, named.prediction])
    kept, train = chosen_rows(columns, path.name, named)

    def take(name: str | None) -> npt.NDArray[Any] | None:
        values = columns.get(name) if name else None
        return None if values is None else values[kept]

    return Rows(
        y=columns[named.label][kept],
        attributes={name: columns[name][kept] for name in named.attributes},
        predicted=take(named.prediction),
        other=take(named.other),
        features=_matrix(columns, named.features, kept),
        probabilities=_matrix(columns, named.probabilities, kept),
        train=train,
        ids=np.flatnonzero(kept).astype(np.str_) if named.ids not in columns else columns[named.ids][kept],
    )


def need(columns: Columns, table: str, names: Sequence[str]) -> None:
    """Refuse a table that lacks one of these columns, or whose columns differ in length."""
    for name in names:
        if name not in columns:
            raise unknown(f"column in {table}", name, columns, hint="name it with --label, --attribute, …")
    if len({len(columns[name]) for name in names}) > 1:
        sizes = ", ".join(f"{name} {len(columns[name])}" for name in names)
        raise FttError("columns differ in length", given=sizes, allowed="one value per row")


def chosen_rows(columns: Columns, table: str, named: Named) -> tuple[BoolArray, dict[tuple[str, ...], float]]:
    """The audited rows, and the training rows by label and attributes."""
    need(columns, table, [named.label, *named.attributes, *([named.other] if named.other else [])])
    n = len(columns[named.label])
    if named.split not in columns:
        return np.ones(n, dtype=bool), {}
    split = parse_split(columns[named.split])
    kept = split == named.audited
    if not kept.any():
        raise unknown("split", named.audited, np.unique(split).tolist(), hint="name it with --split-audited")
    cells = [columns[name][split == "train"].astype(np.str_).tolist() for name in (named.label, *named.attributes)]
    counted = Counter(zip(*cells, strict=True))
    return kept, {group: float(count) for group, count in counted.items()}


def _matrix(columns: Columns, name: str, kept: BoolArray) -> npt.NDArray[Any] | None:
    """A table of numbers: one column of lists, or columns ``name_0``, ``name_1``, …"""
    if name in columns:
        return columns[name][kept]
    numbered = sorted(
        (column for column in columns if re.fullmatch(rf"{re.escape(name)}_\d+", column)),
        key=lambda column: int(column.rsplit("_", 1)[1]),
    )
    return np.stack([columns[column][kept] for column in numbered], axis=1) if numbered else None
