"""What the two kinds of own data share: which columns hold what, and noise on top for experiments."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from ftt.data.columns import Columns, encode, encode_like, need, parse_split
from ftt.data.dataset import Dataset
from ftt.data.grouped import DatasetInfo, GroupedData
from ftt.data.inputs import Inputs
from ftt.data.noise import flip_by_table
from ftt.errors import FttError
from ftt.params import Json, param


@dataclass(frozen=True)
class OwnData(Dataset):
    """Columns of the user's table: label, attribute, split and, where the truth is known, the clean label."""

    info: ClassVar[DatasetInfo]

    path: str = param(help="the table: .csv, .parquet, .npz or a folder of .npy")
    label: str = param("y", help="column of the observed label")
    attribute: str = param("attribute", help="column of the attribute (spurious feature, domain)")
    split: str = param("split", help="column of the split: train, val, test (or 0, 1, 2)")
    clean: str = param("y_clean", help="column of the true label; used for evaluation only, may be absent")
    core_noise: float = param(
        0.0, help="share of labels to flip in train and val, by the paper's table", low=0, high=0.5
    )
    seed: int = param(0, help="seed of the flips", low=0)

    def group(self, columns: Columns, inputs: Inputs) -> GroupedData:
        """The GroupedData of these inputs and the columns that describe them."""
        table = Path(self.path)
        y, classes = encode(need(columns, self.label, table, "label"))
        a, attributes = encode(need(columns, self.attribute, table, "attribute"))
        split = parse_split(need(columns, self.split, table, "split"))
        truth = need(columns, self.clean, table, "clean") if self.clean in columns else None
        for name, values in ((self.label, y), (self.attribute, a), (self.split, split), (self.clean, truth)):
            if values is not None and len(values) != len(inputs):
                raise FttError(
                    f"column {name!r} and the inputs differ in length", given=len(values), allowed=len(inputs)
                )
        if len(classes) < 2:
            raise FttError(
                "the label has one class only, so there is nothing to learn",
                given=f"column {self.label!r}: {', '.join(classes)}",
                allowed="at least two classes",
                hint="name another column with --label",
            )
        if len(attributes) < 2:
            raise FttError(
                "the attribute has one value only, so there are no groups to balance",
                given=f"column {self.attribute!r}: {', '.join(attributes)}",
                allowed="at least two values",
                hint="name another column with --attribute",
            )
        clean = None if truth is None else encode_like(truth, classes, "clean label")
        flipped = np.zeros(len(y), dtype=bool)
        if self.core_noise > 0:
            rng = np.random.default_rng([self.seed, 0x0E11])
            clean = y.copy() if clean is None else clean
            for name in ("train", "val"):
                rows = np.flatnonzero(split == name)
                flipped[rows] = flip_by_table(y[rows], a[rows], self.core_noise, rng)
            y = np.where(flipped, 1 - y, y)
        info = DatasetInfo(table.stem, classes, attributes, f"your data: {table.name}")
        return GroupedData(inputs, y, a, split, info, y_clean=clean, flipped={"core": flipped})

    @abstractmethod
    def content(self) -> Json:
        """What identifies the data whatever its path."""

    def identity(self) -> dict[str, Json]:
        """The content instead of the path: a copy of the data is the same data."""
        identity = super().identity()
        del identity["path"]
        return {**identity, "content": self.content()}
