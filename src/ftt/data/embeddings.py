"""Your own features: arrays of precomputed embeddings with label, attribute and split."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ftt.data.checksums import Checksums
from ftt.data.columns import Columns, read_columns
from ftt.data.grouped import DatasetInfo, GroupedData
from ftt.data.inputs import ArrayInputs, Kind
from ftt.data.own import OwnTable
from ftt.data.roots import Roots
from ftt.errors import FttError, unknown
from ftt.params import Json, param


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
        columns = read_columns(table)
        features = self._features(columns, table)
        bad = np.flatnonzero(~np.isfinite(features).all(axis=1))
        if bad.size:
            raise FttError(
                "features contain NaN or infinity",
                given=f"{bad.size} of {len(features)} rows, the first is row {bad[0]}",
                allowed="finite numbers",
                hint="repair or drop these rows",
            )
        return self.group(columns, ArrayInputs(features, "features"))

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
