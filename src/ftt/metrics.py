"""Accuracy by group: overall, worst, by attribute, by label and attribute, each with its interval and count."""

from __future__ import annotations

import html
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from ftt.arrays import BoolArray, Float32Array, IntArray
from ftt.data.grouped import DatasetInfo, HeldOut, Split
from ftt.errors import FttError
from ftt.params import Json
from ftt.rows import Rows

if TYPE_CHECKING:
    from pandas import DataFrame

Group = tuple[str, str]
"""A label and an attribute value."""

Key = TypeVar("Key", bound=Hashable)
"""How a group is named."""


@dataclass(frozen=True)
class Rate:
    """Right answers among n rows; a mean over probe seeds need not be a whole number."""

    right: float
    n: int

    @property
    def value(self) -> float:
        return self.right / self.n if self.n else float("nan")

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Wilson score interval; unlike the normal one it stays in [0, 1] and is not empty at 0 or 1."""
        if self.n == 0:
            return (0.0, 1.0)
        from scipy.special import ndtri  # Not at the top: a table of stored results needs no SciPy.

        z = float(ndtri(0.5 + level / 2))
        centre = self.value + z * z / (2 * self.n)
        half = z * np.sqrt(self.value * (1 - self.value) / self.n + z * z / (4 * self.n * self.n))
        scale = 1 + z * z / self.n
        return float(max(0.0, (centre - half) / scale)), float(min(1.0, (centre + half) / scale))

    def to_json(self) -> dict[str, Json]:
        """As plain JSON, which has no NaN: the accuracy of no rows is null."""
        low, high = self.interval()
        return {"accuracy": self.value if self.n else None, "right": self.right, "n": self.n, "low": low, "high": high}

    @classmethod
    def from_json(cls, text: Mapping[str, Any]) -> Rate:
        return cls(text["right"], int(text["n"]))

    @classmethod
    def mean(cls, rates: Sequence[Rate]) -> Rate:
        """The mean over probes of the same rows. They share these rows, so it is as uncertain as each of them."""
        return cls(fmean(rate.right for rate in rates), rates[0].n)


@dataclass(frozen=True)
class GroupReport:
    """Accuracies on a held-out split.

    Attributes
    ----------
    overall : Rate
        Plain mean over all rows: the paper's "average".
    by_attribute : dict of str to Rate
        The paper's groups; their minimum is the paper's "worst group".
    by_label_and_attribute : dict of (str, str) to Rate
        The finer groups that DFR, JTT and WILDS report.
    clean : bool
        Whether the labels are known to be true.
    """

    overall: Rate
    by_attribute: dict[str, Rate]
    by_label_and_attribute: dict[Group, Rate]
    clean: bool

    @property
    def worst(self) -> tuple[str, Rate]:
        """Name and rate of the worst attribute group."""
        filled = {name: rate for name, rate in self.by_attribute.items() if rate.n}
        return min(filled.items(), key=lambda item: item[1].value)

    @property
    def worst_of_label_and_attribute(self) -> tuple[Group, Rate]:
        """Name and rate of the worst group by label and attribute."""
        filled = {name: rate for name, rate in self.by_label_and_attribute.items() if rate.n}
        return min(filled.items(), key=lambda item: item[1].value)

    @property
    def attribute_only(self) -> float:
        """Accuracy on these rows of the best rule that sees the attribute and nothing else."""
        most = {
            a: max(rate.n for (_, other), rate in self.by_label_and_attribute.items() if other == a)
            for a in self.by_attribute
        }
        return sum(most.values()) / self.overall.n

    @property
    def balanced(self) -> bool:
        """Whether the attribute tells nothing about the label in these rows.

        Where it does, a classifier that has learned the shortcut looks good in every attribute group, and only the
        groups of label and attribute show it.
        """
        labels = {label for label, _ in self.by_label_and_attribute}
        rows = [sum(r.n for (y, _), r in self.by_label_and_attribute.items() if y == label) for label in labels]
        return self.attribute_only <= max(rows) / self.overall.n + SHORTCUT

    @property
    def headline(self) -> tuple[str, Rate]:
        """The worst group: by attribute (the paper) where rows are balanced, else by label and attribute."""
        if self.balanced:
            return self.worst
        (label, attribute), rate = self.worst_of_label_and_attribute
        return f"{label}, {attribute}", rate

    def remarks(self) -> list[str]:
        """What a reader should know before trusting the figures."""
        found = []
        small = [f"{y}, {a} ({r.n})" for (y, a), r in self.by_label_and_attribute.items() if 0 < r.n < FEW_ROWS]
        if not self.balanced:
            found.append(
                f"the attribute alone predicts the label of {self.attribute_only:.1%} of the test rows, so groups by "
                "attribute hide a learned shortcut; the worst group is that by label and attribute"
            )
            if self.overall.value <= self.attribute_only:
                found.append(
                    f"accuracy {self.overall.value:.1%} is no better than a rule that looks at the attribute alone"
                )
        if small:
            found.append(f"fewer than {FEW_ROWS} test rows: {'; '.join(small)}")
        if not self.clean:
            found.append(OBSERVED)
        return found

    def weighted_average(self, weights: dict[Group, float]) -> float:
        """Group accuracies averaged with the given weights, such as the training shares (WILDS' adjusted average)."""
        return adjusted_average(self.by_label_and_attribute, weights)

    @classmethod
    def mean(cls, reports: Sequence[GroupReport]) -> GroupReport:
        """The mean of several probes on the same rows; its worst group is the worst of the means."""
        first = reports[0]
        return cls(
            overall=Rate.mean([report.overall for report in reports]),
            by_attribute={name: Rate.mean([r.by_attribute[name] for r in reports]) for name in first.by_attribute},
            by_label_and_attribute={
                group: Rate.mean([r.by_label_and_attribute[group] for r in reports])
                for group in first.by_label_and_attribute
            },
            clean=first.clean,
        )

    def to_json(self) -> dict[str, Json]:
        name, rate = self.worst
        headline, judged = self.headline
        return {
            "headline_group": headline,
            "headline_accuracy": judged.value,
            "headline_interval": list(judged.interval()),
            "attribute_only_accuracy": self.attribute_only,
            "balanced": self.balanced,
            "worst_group": name,
            "worst_group_accuracy": rate.value,
            "worst_group_interval": list(rate.interval()),
            "average_accuracy": self.overall.value,
            "average_interval": list(self.overall.interval()),
            "by_group": {group: r.to_json() for group, r in self.by_attribute.items()},
            "by_label_and_group": [
                {"label": y, "group": a, **r.to_json()} for (y, a), r in self.by_label_and_attribute.items()
            ],
            "labels": "clean" if self.clean else "observed",
        }

    @classmethod
    def from_json(cls, text: Mapping[str, Any]) -> GroupReport:
        """Read back what `to_json` wrote, from the counts alone."""
        # Objects of JSON have no order; the list below keeps that of the data set.
        names = dict.fromkeys(cell["group"] for cell in text["by_label_and_group"])
        by_attribute = {name: Rate.from_json(text["by_group"][name]) for name in names}
        return cls(
            overall=Rate(sum(r.right for r in by_attribute.values()), sum(r.n for r in by_attribute.values())),
            by_attribute=by_attribute,
            by_label_and_attribute={
                (cell["label"], cell["group"]): Rate.from_json(cell) for cell in text["by_label_and_group"]
            },
            clean=text["labels"] == "clean",
        )

    def to_frame(self) -> DataFrame:
        """One row per group, by attribute and by label and attribute: label, group, accuracy, interval, n."""
        import pandas

        rows = [{"label": None, "group": name, **rate.to_json()} for name, rate in self.by_attribute.items()]
        cells = self.by_label_and_attribute.items()
        rows += [{"label": label, "group": name, **rate.to_json()} for (label, name), rate in cells]
        return pandas.DataFrame(rows)

    def rows(self) -> Iterator[tuple[str, str, Rate]]:
        """(kind, name, rate) of every line of the printed report."""
        if not self.balanced:
            yield "worst group", *self.headline
        yield "worst group" if self.balanced else "by attribute", *self.worst
        yield "average", "all", self.overall
        for name, rate in self.by_attribute.items():
            yield "group", name, rate
        for (label, name), rate in self.by_label_and_attribute.items():
            yield "label, group", f"{label}, {name}", rate

    def __str__(self) -> str:
        lines = [f"{'':<14}{'':<22}{'accuracy':>9}  {'95 % interval':<16}{'n':>6}"]
        for kind, name, rate in self.rows():
            low, high = rate.interval()
            lines.append(f"{kind:<14}{name:<22}{_percent(rate):>9}  [{low:.1%}, {high:.1%}]{rate.n:>8}")
        return "\n".join([*lines, *self.remarks()])

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><td>{kind}</td><td>{html.escape(name)}</td><td>{_percent(rate)}</td>"
            f"<td>{rate.interval()[0]:.1%} – {rate.interval()[1]:.1%}</td><td>{rate.n}</td></tr>"
            for kind, name, rate in self.rows()
        )
        head = "<tr><th></th><th></th><th>accuracy</th><th>95 % interval</th><th>n</th></tr>"
        remarks = "".join(f"<p>{html.escape(remark)}</p>" for remark in self.remarks())
        return f"<table>{head}{body}</table>{remarks}"


FEW_ROWS = 30
"""Below this a group's accuracy says little."""

SHORTCUT = 0.05
"""How much better than the commonest label the attribute may predict before it counts as telling."""

OBSERVED = "measured against observed labels: the true ones are not known"


def _percent(rate: Rate) -> str:
    return f"{rate.value:.1%}" if rate.n else "n/a"


def report_groups(
    predicted: IntArray, truth: IntArray, a: IntArray, info: DatasetInfo, *, clean: bool = True
) -> GroupReport:
    """Count right answers by group.

    Parameters
    ----------
    predicted, truth : (n,) int arrays
        Class codes.
    a : (n,) int array
        Attribute codes.
    info : DatasetInfo
        Names of the codes.
    """
    if len(predicted) != len(truth) or len(a) != len(truth):
        raise FttError(
            "predictions, labels and attribute differ in length",
            given=f"{len(predicted)}, {len(truth)}, {len(a)}",
            allowed="one of each per row",
        )
    if len(truth) == 0:
        raise FttError("there are no rows to report on", given="0 rows", allowed="at least one row")
    right = np.asarray(predicted) == truth

    def rate(rows: BoolArray) -> Rate:
        return Rate(int(right[rows].sum()), int(rows.sum()))

    return GroupReport(
        overall=rate(np.ones(len(truth), dtype=bool)),
        by_attribute={name: rate(a == code) for code, name in enumerate(info.attributes)},
        by_label_and_attribute={
            (label, name): rate((truth == y) & (a == code))
            for y, label in enumerate(info.classes)
            for code, name in enumerate(info.attributes)
        },
        clean=clean,
    )


def adjusted_average(rates: Mapping[Key, Rate], weights: Mapping[Key, float]) -> float:
    """Accuracies of groups averaged with weights, such as their training shares (WILDS' adjusted average).

    Parameters
    ----------
    rates : mapping of group to Rate
    weights : mapping of group to float
        Not negative; groups without a weight do not count.

    Examples
    --------
    >>> adjusted_average({"land": Rate(9, 10), "water": Rate(5, 10)}, {"land": 300, "water": 100})
    0.8
    """
    used = {group: weight for group, weight in weights.items() if weight}
    for group, weight in used.items():
        if group not in rates or not rates[group].n or not weight > 0:
            raise FttError(
                f"invalid weight for the group {group}",
                given=f"weight {weight:g}",
                allowed="positive weights for groups that have rows in this split",
            )
    if not used:
        raise FttError("the weights are all zero", given=dict(weights), allowed="at least one positive weight")
    return sum(rates[group].value * weight for group, weight in used.items()) / sum(used.values())


@dataclass(frozen=True)
class CrossedGroup:
    """The rows that share the values of one or several columns, and the right answers among them."""

    parts: tuple[tuple[str, str], ...]
    rate: Rate

    @property
    def name(self) -> str:
        """As ``place = water, sex = f``."""
        return ", ".join(f"{column} = {value}" for column, value in self.parts)


def crossed_groups(
    right: npt.ArrayLike, columns: Mapping[str, npt.ArrayLike], *, fewest: int = 1, deepest: int | None = None
) -> list[CrossedGroup]:
    """Right answers by the values of every column and of every crossing of columns.

    Parameters
    ----------
    right : (n,) array of bool or float
        Whether each row was answered correctly; shares between 0 and 1 are means over several models.
    columns : mapping of str to (n,) array
        What the rows are grouped by, such as the label and several attributes.
    fewest : int
        Groups with fewer rows are left out.
    deepest : int, optional
        Largest number of columns that are crossed; by default all.

    Returns
    -------
    list of CrossedGroup
        Single columns first, in the order given; values in sorted order.

    Examples
    --------
    >>> found = crossed_groups([1, 0, 1], {"place": ["land", "water", "water"], "sex": ["f", "f", "m"]})
    >>> [(group.name, group.rate.value) for group in found][1:5]
    [('place = water', 0.5), ('sex = f', 0.5), ('sex = m', 1.0), ('place = land, sex = f', 1.0)]
    """
    score = np.asarray(right, dtype=np.float64)
    encoded = {}
    for name, column in columns.items():
        values, codes = np.unique(np.asarray(column), return_inverse=True)
        if codes.shape != score.shape:
            raise FttError(
                f"the column {name!r} has another length than the answers",
                given=f"{codes.size} and {score.size}",
                allowed="one value per row",
            )
        encoded[name] = ([str(value) for value in values], codes)
    found = []
    for depth in range(1, (len(columns) if deepest is None else min(deepest, len(columns))) + 1):
        for crossed in combinations(columns, depth):
            # Only combinations that occur: the product of many columns would be far larger than the data.
            cells, member = np.unique(np.stack([encoded[c][1] for c in crossed], axis=1), axis=0, return_inverse=True)
            member = member.reshape(-1)
            counts, sums = np.bincount(member), np.bincount(member, weights=score)
            for cell, n, total in zip(cells, counts, sums, strict=True):
                if n >= fewest:
                    parts = tuple((c, encoded[c][0][code]) for c, code in zip(crossed, cell, strict=True))
                    found.append(CrossedGroup(parts, Rate(float(total), int(n))))
    return found


class Predicts(Protocol):
    """A fitted probe."""

    def predict(self, X: Any) -> npt.NDArray[Any]: ...


class Transforms(Protocol):
    """A fitted model."""

    def transform(self, split: Split) -> Float32Array: ...


@runtime_checkable
class ReadByRows(Protocol):
    """A fitted model whose features need not fit in memory."""

    def rows(self, split: Split) -> Rows: ...


def group_report(probe: Predicts, model: Transforms, split: HeldOut) -> GroupReport:
    """Evaluate a probe on a model's features of a held-out split, against its clean labels."""
    if not isinstance(split, HeldOut):
        raise FttError(
            "results are reported on held-out data only",
            given=getattr(split, "name", type(split).__name__),
            allowed="test",
            hint="pass data['test']",
        )
    return report_on(predict(probe, model, split), split)


def report_on(predicted: npt.NDArray[Any], split: HeldOut) -> GroupReport:
    """Evaluate predictions for a held-out split against its clean labels."""
    return report_groups(predicted, split.y_clean, split.a, split.info, clean=split.clean_known)


def predict(probe: Predicts, model: Transforms, split: Split) -> npt.NDArray[Any]:
    """(n,) predictions for a split; block by block where the model can be read by rows."""
    if isinstance(model, ReadByRows):
        return np.concatenate([probe.predict(block) for block in model.rows(split).blocks()])
    return probe.predict(model.transform(split))
