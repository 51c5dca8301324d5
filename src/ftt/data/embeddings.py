"""Your own features: arrays of precomputed embeddings with label, attribute and split."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ftt.data.checksums import Checksums
from ftt.data.columns import UNREADABLE, Columns, read_columns
from ftt.data.files import is_folder
from ftt.data.grouped import DatasetInfo, GroupedData
from ftt.data.inputs import ArrayInputs, Kind, MappedInputs
from ftt.data.npy import map_npy
from ftt.data.own import OwnTable
from ftt.data.roots import Roots
from ftt.errors import FttError, unknown
from ftt.params import Json, param
from ftt.rows import BLOCK, RowFile

HELD = 2**28
"""Bytes of a .npy file of features up to which it is read into memory."""


@dataclass(frozen=True)
class Embeddings(OwnTable):
    """Features of your own model.

    ``.npz`` or a folder of ``.npy`` with the arrays features (n, d), y, attribute, split and, if known, y_clean; or a
    ``.parquet`` file whose features are one list column or number columns called features_0, features_1, ….
    """

    name: ClassVar[str] = "embeddings"
    info: ClassVar[DatasetInfo] = DatasetInfo(
        name="embeddings",
        classes=(),
        attributes=(),
        summary="your features: features, y, attribute, split and optionally y_clean",
        how_to_get="ftt run embeddings --path features.npz",
    )

    features: str = param("features", help="array or column of the features")

    @property
    def kind(self) -> Kind:
        return "features"

    def load(self, roots: Roots) -> GroupedData:
        table = Path(self.path)
        if (mapped := self._mapped(table)) is not None:
            _check_finite(mapped)
            return self.group(read_columns(table, without={self.features}), MappedInputs(mapped))
        columns = read_columns(table)
        features = self._features(columns, table)
        _check_finite(features)
        return self.group(columns, ArrayInputs(features, "features"))

    def _mapped(self, table: Path) -> RowFile | None:
        """The features as a file that is read by rows: a .npy file of float32 too large to be read at once."""
        path = table / f"{self.features}.npy"
        if not (is_folder(table) and path.is_file() and path.stat().st_size > HELD):
            return None
        try:
            found = map_npy(path)
        except UNREADABLE:
            return None  # `read_columns` says what is wrong with it.
        plain = found is not None and found.dtype == np.dtype("<f4") and len(found.shape) == 2 and found.shape[1] > 0
        return found if plain else None

    def content(self, roots: Roots) -> Json:
        table = Path(self.path)
        if table.is_dir():
            names = sorted(file.name for file in table.glob("*.npy"))
            return dict(zip(names, Checksums(roots).of(table, names), strict=True))
        return Checksums(roots).of(table.parent, [table.name])[0]

    def _features(self, columns: Columns, table: Path) -> npt.NDArray[np.float32]:
        numbered = sorted(
            (name for name in columns if re.fullmatch(rf"{re.escape(self.features)}_\d+", name)),
            key=lambda name: int(name.rsplit("_", 1)[1]),
        )
        if self.features in columns:
            features: npt.NDArray[Any] = columns[self.features]
        elif numbered:
            features = np.stack([columns[name] for name in numbered], axis=1)
        else:
            raise unknown(f"column in {table.name}", self.features, columns, hint="name it with --features")
        if features.ndim != 2 or features.shape[1] == 0 or features.dtype.kind not in "fiu":
            raise FttError(
                "features are not a table of numbers",
                given=f"shape {features.shape}, type {features.dtype}",
                allowed="(rows, dimensions) of numbers, at least one dimension",
            )
        return np.ascontiguousarray(features, dtype=np.float32)


def _check_finite(features: npt.NDArray[np.float32] | RowFile) -> None:
    bad: list[npt.NDArray[np.int64]] = []
    for start in range(0, len(features), BLOCK):
        block = features[start : start + BLOCK]
        # A sum is finite only if every entry is; only if it is not are the entries looked at one by one.
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(block.sum(dtype=np.float64)):
                bad.append(start + np.flatnonzero(~np.isfinite(block).all(axis=1)))
    found = np.concatenate(bad) if bad else np.zeros(0, dtype=np.int64)
    if found.size:
        raise FttError(
            "features contain NaN or infinity",
            given=f"{found.size} of {len(features)} rows, the first is row {found[0]}",
            allowed="finite numbers",
            hint="repair or drop these rows",
        )
