"""What all kinds of own data share: named labels, splits (given or made) and added noise for experiments."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ftt.arrays import IntArray
from ftt.data.columns import Columns, encode, encode_like, need, parse_split
from ftt.data.dataset import Dataset
from ftt.data.grouped import SPLITS, DatasetInfo, GroupedData
from ftt.data.inputs import Inputs
from ftt.data.noise import flip_by_table
from ftt.data.splitting import make_splits
from ftt.errors import FttError, unknown
from ftt.params import param
from ftt.progress import say
from ftt.rng import generator

Values = npt.NDArray[Any]


@dataclass(frozen=True)
class OwnData(Dataset):
    """Where the user's data are, the noise to add, and how splits are made where there are none."""

    info: ClassVar[DatasetInfo]
    paths: ClassVar[tuple[str, ...]] = ("path",)

    path: str = param(help="table to read (.csv, .parquet, .npz or a folder of .npy)")
    core_noise: float = param(
        0.0, help="share of labels to flip in train and val, by the paper's table", low=0, high=0.5
    )
    seed: int = param(0, help="seed of the flips", low=0)
    shares: tuple[float, ...] = param(
        (0.6, 0.2, 0.2), help="shares of train, val and test when splits are made", low=0, open_low=True, added=True
    )
    split_seed: int = param(0, help="seed of the splits made from --shares", low=0, added=True)

    def assemble(
        self,
        inputs: Inputs,
        label: Values,
        attribute: Values,
        split: Values | None,
        clean: Values | None = None,
        ids: npt.NDArray[np.str_] | None = None,
        *,
        names: tuple[str, str] = ("the label", "the attribute"),
    ) -> GroupedData:
        """One GroupedData of inputs and what is known of each; without a split column splits are made.

        Parameters
        ----------
        label, attribute, split, clean : (n,) arrays
            As they stand in the user's table: numbers or texts.
        names : pair of str
            What the user calls label and attribute, for messages.
        """
        y, classes = encode(label, names[0])
        a, attributes = encode(attribute, names[1])
        if len(classes) < 2:
            raise FttError(
                "the label has one class only, so there is nothing to learn",
                given=f"{names[0]}: {', '.join(classes) or 'no rows'}",
                allowed="at least two classes",
                hint="name another column with --label",
            )
        if len(attributes) < 2:
            raise FttError(
                "the attribute has one value only, so there are no groups to balance",
                given=f"{names[1]}: {', '.join(attributes)}",
                allowed="at least two values",
                hint="name another column with --attribute",
            )
        parts = self._made_splits(y, a) if split is None else parse_split(split)
        truth = None if clean is None else encode_like(clean, classes, "clean label")
        flipped = np.zeros(len(y), dtype=bool)
        if self.core_noise > 0:
            rng = generator(self.seed, "flips")
            truth = y.copy() if truth is None else truth
            for name in ("train", "val"):
                rows = np.flatnonzero(parts == name)
                flipped[rows] = flip_by_table(y[rows], a[rows], self.core_noise, rng)
            y = np.where(flipped, 1 - y, y)
        source = Path(self.path)
        info = DatasetInfo(source.stem, classes, attributes, f"your data: {source.name}")
        return GroupedData(inputs, y, a, parts, info, y_clean=truth, ids=ids, flipped={"core": flipped})

    def _made_splits(self, y: IntArray, a: IntArray) -> npt.NDArray[np.str_]:
        made = make_splits(y, a, self.shares, generator(self.split_seed, "splits"))
        sizes = ", ".join(f"{name} {int((made == name).sum())}" for name in SPLITS)
        say(f"no splits are given: made from {len(y)} rows, by label and attribute: {sizes} (--shares, --split-seed)")
        return made


@dataclass(frozen=True)
class OwnTable(OwnData):
    """Columns of the user's table: label, attribute, split and, where the truth is known, the clean label."""

    label: str = param("y", help="column of the observed label")
    attribute: str = param(
        "attribute", help="column of the attribute (spurious feature, domain); several, a,b, are crossed"
    )
    split: str = param("split", help="column of the split (train, val, test or 0, 1, 2); if absent, splits are made")
    clean: str = param("y_clean", help="column of the true label, used for evaluation only (optional)")

    @property
    def used(self) -> set[str]:
        """The columns that are read, the inputs apart."""
        return {self.label, self.attribute, *self.attribute.split(","), self.split, self.clean}

    def group(self, columns: Columns, inputs: Inputs) -> GroupedData:
        """The GroupedData of these inputs and the columns that describe them."""
        table = Path(self.path)
        label = need(columns, self.label, table, "label")
        attribute = self._attribute(columns)
        split = need(columns, self.split, table, "split") if self._has_split(columns) else None
        clean = need(columns, self.clean, table, "clean") if self.clean in columns else None
        found = {self.label: label, self.attribute: attribute, self.split: split, self.clean: clean}
        for name, values in found.items():
            if values is not None and len(values) != len(inputs):
                raise FttError(
                    f"column {name!r} and the inputs differ in length", given=len(values), allowed=len(inputs)
                )
        names = (f"column {self.label!r}", f"column {self.attribute!r}")
        return self.assemble(inputs, label, attribute, split, clean, names=names)

    def _attribute(self, columns: Columns) -> Values:
        """The column of the attribute, or the crossing of several: ``place,sex`` has values such as ``water, f``."""
        table, names = Path(self.path), self.attribute.split(",")
        if self.attribute in columns or len(names) == 1:
            return need(columns, self.attribute, table, "attribute")
        parts = [encode(need(columns, name, table, "attribute"), f"column {name!r}") for name in names]
        if len({len(codes) for codes, _ in parts}) > 1:
            raise FttError(
                "the columns of the attribute differ in length",
                given=", ".join(f"{name}: {len(codes)}" for name, (codes, _) in zip(names, parts, strict=True)),
                allowed="one value per row in each",
            )
        shown = [np.array(values, dtype=object)[codes] for codes, values in parts]
        return np.array([", ".join(values) for values in zip(*shown, strict=True)], dtype=object)

    def _has_split(self, columns: Columns) -> bool:
        """Whether there is a split column; a misspelt or explicitly requested one is an error."""
        if self.split in columns:
            return True
        asked = self.split != type(self).split
        others = {name.lower(): name for name in columns}
        near = difflib.get_close_matches(self.split.lower(), others, n=1, cutoff=0.75)
        if asked or near:
            raise unknown(
                f"column in {Path(self.path).name}", self.split, columns, hint="name the right one with --split"
            )
        return False
