"""Accuracy by group: overall, worst, by attribute, by label and attribute, each with its interval and count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from ftt.arrays import IntArray
from ftt.data.grouped import DatasetInfo, HeldOut, Split
from ftt.errors import FttError
from ftt.params import Json


@dataclass(frozen=True)
class Rate:
    """A share of n: value, and the Wilson interval at 95 %."""

    right: int
    n: int

    @property
    def value(self) -> float:
        return self.right / self.n if self.n else float("nan")

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Wilson score interval; unlike the normal one it stays in [0, 1] and is not empty at 0 or 1."""
        if self.n == 0:
            return (0.0, 1.0)
        z = float(ndtri(0.5 + level / 2))
        centre = self.value + z * z / (2 * self.n)
        half = z * np.sqrt(self.value * (1 - self.value) / self.n + z * z / (4 * self.n * self.n))
        scale = 1 + z * z / self.n
        return float(max(0.0, (centre - half) / scale)), float(min(1.0, (centre + half) / scale))

    def to_json(self) -> dict[str, Json]:
        """As plain JSON, which has no NaN: the accuracy of nothing is null."""
        low, high = self.interval()
        return {"accuracy": self.value if self.n else None, "n": self.n, "low": low, "high": high}


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
    by_label_and_attribute: dict[tuple[str, str], Rate]
    clean: bool

    @property
    def worst(self) -> tuple[str, Rate]:
        """Name and rate of the worst attribute group."""
        filled = {name: rate for name, rate in self.by_attribute.items() if rate.n}
        return min(filled.items(), key=lambda item: item[1].value)

    @property
    def worst_of_label_and_attribute(self) -> tuple[tuple[str, str], Rate]:
        """Name and rate of the worst group by label and attribute."""
        filled = {name: rate for name, rate in self.by_label_and_attribute.items() if rate.n}
        return min(filled.items(), key=lambda item: item[1].value)

    def weighted_average(self, weights: dict[tuple[str, str], float]) -> float:
        """Group accuracies averaged with the given weights, such as the training shares (WILDS' adjusted average)."""
        used = {group: weight for group, weight in weights.items() if weight}
        for group, weight in used.items():
            if group not in self.by_label_and_attribute or not self.by_label_and_attribute[group].n or weight < 0:
                raise FttError(
                    f"the group {group} cannot be weighted",
                    given=f"weight {weight:g}",
                    allowed="weights above 0 of groups that have rows in this split",
                )
        if not used:
            raise FttError("the weights are all zero", given=weights, allowed="at least one above 0")
        weighted = sum(self.by_label_and_attribute[group].value * weight for group, weight in used.items())
        return weighted / sum(used.values())

    def to_json(self) -> dict[str, Json]:
        name, rate = self.worst
        return {
            "worst_group": name,
            "worst_group_accuracy": rate.value,
            "worst_group_interval": list(rate.interval()),
            "average_accuracy": self.overall.value,
            "average_interval": list(self.overall.interval()),
            "by_group": {group: r.to_json() for group, r in self.by_attribute.items()},
            "by_label_and_group": {f"{y}, {a}": r.to_json() for (y, a), r in self.by_label_and_attribute.items()},
            "labels": "clean" if self.clean else "observed",
        }

    def __str__(self) -> str:
        rows = [("worst group", f"{self.worst[0]}", self.worst[1]), ("average", "all", self.overall)]
        rows += [("group", name, rate) for name, rate in self.by_attribute.items()]
        lines = [f"{'':<12}{'':<14}{'accuracy':>9}  {'95 % interval':<16}{'n':>6}"]
        for kind, name, rate in rows:
            low, high = rate.interval()
            lines.append(f"{kind:<12}{name:<14}{rate.value:>9.1%}  [{low:.1%}, {high:.1%}]{rate.n:>8}")
        if not self.clean:
            lines.append("measured against observed labels: the true ones are not known")
        return "\n".join(lines)


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
        raise FttError("there is nothing to report on", given="no rows", allowed="at least one")
    right = np.asarray(predicted) == truth

    def rate(rows: npt.NDArray[np.bool_]) -> Rate:
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


class Predicts(Protocol):
    """A fitted probe."""

    def predict(self, X: Any) -> npt.NDArray[Any]: ...


class Transforms(Protocol):
    """A fitted model."""

    def transform(self, split: Split) -> npt.NDArray[np.float32]: ...


def group_report(probe: Predicts, model: Transforms, split: HeldOut) -> GroupReport:
    """Evaluate a probe on a model's features of a held-out split, against its clean labels."""
    if not isinstance(split, HeldOut):
        raise FttError(
            "results are reported on held-out data only",
            given=getattr(split, "name", type(split).__name__),
            allowed="test",
            hint="pass data['test']",
        )
    predicted = probe.predict(model.transform(split))
    return report_groups(predicted, split.y_clean, split.a, split.info, clean=split.clean_known)
