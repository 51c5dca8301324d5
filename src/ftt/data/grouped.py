"""GroupedData: inputs, observed labels, true labels, attribute and split. The one data type of the library.

Clean labels cannot be reached from training. A split that may be fitted on (`Fittable`: train, val) carries observed
`y` and no `y_clean` at all; the split that is reported on (`HeldOut`: test) carries `y_clean` and no `y`. They are
different types, so the type checker refuses to fit on test, and so does `require_fittable` at run time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
import numpy.typing as npt

from ftt.arrays import BoolArray, Float32Array, IntArray
from ftt.data.inputs import Inputs
from ftt.errors import FttError, unknown
from ftt.params import Configurable

if TYPE_CHECKING:
    from pandas import DataFrame

SPLITS = ("train", "val", "test")


@dataclass(frozen=True)
class DatasetInfo:
    """What to know about a data set before using it."""

    name: str
    classes: tuple[str, ...]
    attributes: tuple[str, ...]
    summary: str
    licence: str = "yours"
    citation: str = ""
    version: str = "1"
    how_to_get: str = ""
    environments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Split:
    """The part of a data set that any stage may look at: inputs and attribute, no labels."""

    name: str
    inputs: Inputs
    a: IntArray
    ids: npt.NDArray[np.str_]
    info: DatasetInfo

    def __len__(self) -> int:
        return len(self.a)


@dataclass(frozen=True)
class Fittable(Split):
    """A split one may fit on: `y` (n,) is the observed, possibly wrong label.

    `environment` (n,) says where a row was collected, in data where that is not the attribute. `soft` (n, K) are
    probabilities of the labels where a teacher gives them; no data set does.
    """

    y: IntArray
    environment: IntArray | None = None
    soft: Float32Array | None = None


@dataclass(frozen=True)
class HeldOut(Split):
    """The split one reports on: `y_clean` (n,) is the truth as far as it is known."""

    y_clean: IntArray
    clean_known: bool = True


def require_fittable(split: object, purpose: str) -> Fittable:
    """Refuse to fit on anything but a `Fittable` split."""
    if isinstance(split, Fittable):
        return split
    name = getattr(split, "name", type(split).__name__)
    raise FttError(
        f"{purpose} may not see the split {name!r}",
        given=name,
        allowed="train or val",
        hint="pass data['train'] or data['val']; data['test'] is for group_report",
    )


@dataclass(frozen=True)
class GroupedData:
    """A data set with groups.

    Parameters
    ----------
    inputs : Inputs
        n images, feature rows or texts.
    y : (n,) int array
        Observed labels, 0..K-1.
    a : (n,) int array
        Attribute (spurious feature, domain), 0..A-1.
    split : (n,) str array
        "train", "val" or "test".
    info : DatasetInfo
        Names of classes and attributes, licence, citation.
    y_clean : (n,) int array, optional
        True labels; without them the observed test labels are reported on, and the report says so.
    ids : (n,) str array, optional
        A stable name per row; the row number when absent.
    flipped : mapping of str to (n,) bool array
        Which rows the noise touched, by kind ("core", "spurious").
    environment : (n,) int array, optional
        Where each row was collected, for methods such as IRM; without it they take the attribute.
    source : Dataset, optional
        The data set that it was loaded from, which says how it is trained by default.
    """

    inputs: Inputs
    y: IntArray
    a: IntArray
    split: npt.NDArray[np.str_]
    info: DatasetInfo
    y_clean: IntArray | None = field(default=None, repr=False)
    ids: npt.NDArray[np.str_] | None = None
    flipped: Mapping[str, BoolArray] = field(default_factory=dict)
    environment: IntArray | None = None
    source: Configurable | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        n = len(self.inputs)
        rows = {
            "y": self.y,
            "a": self.a,
            "split": self.split,
            "y_clean": self.y_clean,
            "ids": self.ids,
            "environment": self.environment,
            **self.flipped,
        }
        for label, values in rows.items():
            if values is not None and len(values) != n:
                raise FttError(f"{label} and the inputs differ in length", given=len(values), allowed=n)
        bad = sorted(set(np.unique(self.split)) - set(SPLITS))
        if bad:
            raise unknown("split", bad[0], SPLITS)
        _check_codes("y", self.y, self.info.classes)
        _check_codes("attribute", self.a, self.info.attributes)
        if self.y_clean is not None:
            _check_codes("y_clean", self.y_clean, self.info.classes)
        if self.environment is not None:
            _check_codes("environment", self.environment, self.info.environments)
        present = np.unique(self.y[self.split == "train"])
        if len(present) < 2:
            raise FttError(
                "the training split has one class only, so there is nothing to learn",
                given=", ".join(self.info.classes[int(c)] for c in present) or "no training rows",
                allowed="at least two classes",
                hint="check the label and split columns with: ftt data show",
            )
        if self.ids is None:
            # As wide as the largest needs: NumPy's own choice would take 84 bytes per row.
            object.__setattr__(self, "ids", np.arange(n).astype(f"U{len(str(n))}"))

    def __len__(self) -> int:
        return len(self.y)

    @overload
    def __getitem__(self, name: Literal["train", "val"]) -> Fittable: ...
    @overload
    def __getitem__(self, name: Literal["test"]) -> HeldOut: ...
    def __getitem__(self, name: str) -> Fittable | HeldOut:
        """One split: `Fittable` for train and val, `HeldOut` for test."""
        if name not in SPLITS:
            raise unknown("split", name, SPLITS)
        rows = np.flatnonzero(self.split == name)
        if rows.size == 0:
            raise FttError(
                f"the data set {self.info.name!r} has no {name} rows",
                given=", ".join(f"{s}: {int((self.split == s).sum())}" for s in SPLITS),
                allowed="train, val and test, each with at least one row",
                hint="give every row a split, or omit the column to have splits made: see the guide, 'Your own data'",
            )
        assert self.ids is not None
        inputs, a, ids = self.inputs.take(rows), self.a[rows], self.ids[rows]
        if name == "test":
            known = self.y_clean is not None
            clean = self.y_clean[rows] if self.y_clean is not None else self.y[rows]
            return HeldOut(name, inputs, a, ids, self.info, y_clean=clean, clean_known=known)
        environment = None if self.environment is None else self.environment[rows]
        return Fittable(name, inputs, a, ids, self.info, y=self.y[rows], environment=environment)

    @property
    def n_classes(self) -> int:
        return len(self.info.classes)

    def counts(self, name: str) -> IntArray:
        """(K, A) numbers of rows of one split by observed label and attribute."""
        rows = self.split == name
        table = np.zeros((len(self.info.classes), len(self.info.attributes)), dtype=np.int64)
        np.add.at(table, (self.y[rows], self.a[rows]), 1)
        return table

    def to_frame(self) -> DataFrame:
        """One row for every split, label and attribute: their number of rows."""
        import pandas

        return pandas.DataFrame(
            [
                {"split": split, "label": label, "attribute": value, "rows": int(self.counts(split)[y, a])}
                for split in SPLITS
                for y, label in enumerate(self.info.classes)
                for a, value in enumerate(self.info.attributes)
            ]
        )

    def _repr_html_(self) -> str:
        """Counts by split, label and attribute, and a few images of every group of the training split."""
        from ftt.data.contact_sheet import html_preview

        return html_preview(self)


def _check_codes(label: str, codes: IntArray, names: tuple[str, ...]) -> None:
    if codes.size and (codes.min() < 0 or codes.max() >= len(names)):
        raise FttError(
            f"{label} contains codes without a name",
            given=f"{int(codes.min())}..{int(codes.max())}",
            allowed=f"0..{len(names) - 1} ({', '.join(names)})",
        )
