"""From labels, predictions, attributes and features to an Audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ftt.arrays import FloatArray, IntArray, StrArray
from ftt.diagnosis.audit_result import Audit
from ftt.diagnosis.following import follow
from ftt.diagnosis.label_issues import LabelIssues, find
from ftt.diagnosis.scores import FOLDS, Scores, out_of_fold
from ftt.errors import FttError
from ftt.metrics import FEW_ROWS, CrossedGroup, Rate, adjusted_average, crossed_groups
from ftt.paired import Difference

ONE_CLASS = 0.99
"""Share of rows with one prediction from which on a classifier counts as collapsed."""

DRAWS = 1000
DEEPEST = 3


@dataclass(frozen=True)
class Rows:
    """What is known of the rows that a classifier is judged on.

    Attributes
    ----------
    y : (n,) array
        Labels.
    attributes : mapping of str to (n,) array
        What rows are grouped by.
    predicted : (n,) array, optional
        Predicted labels; without them those of an out-of-fold probe on `features` are audited.
    other : (n,) array, optional
        Predictions of another classifier, to compare with.
    features : (n, d) array, optional
        From which labels that look wrong are found.
    probabilities : (n, K) array, optional
        Of the sorted labels, from a classifier that was not fitted on these rows: used in place of features.
    train : mapping of tuple of str to float, optional
        Training rows by (label, attribute values …), for the weighted average.
    ids : (n,) array, optional
        Names of the rows; numbers by default.
    """

    y: npt.ArrayLike
    attributes: Mapping[str, npt.ArrayLike]
    predicted: npt.ArrayLike | None = None
    other: npt.ArrayLike | None = None
    features: npt.ArrayLike | None = None
    probabilities: npt.ArrayLike | None = None
    train: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    ids: npt.ArrayLike | None = None


def audit(rows: Rows, *, fewest: int = FEW_ROWS, name: str = "predictions") -> Audit:
    """Audit a classifier.

    Parameters
    ----------
    rows : Rows
    fewest : int
        Smallest group that is listed.
    name : str
        What it is called in titles.

    Examples
    --------
    >>> y, place = np.repeat(["cow", "camel"], 100), np.tile(["grass", "sand"], 100)
    >>> says = np.where(place == "sand", "camel", "cow")
    >>> found = audit(Rows(y, {"place": place}, predicted=says), fewest=10)
    >>> found.worst.name, found.worst.rate.value
    ('label = camel, place = grass', 0.0)
    """
    y = _column("label", rows.y, None)
    attributes = {key: _column(key, column, len(y)) for key, column in rows.attributes.items()}
    given = [_column("predictions", p, len(y)) for p in (rows.predicted, rows.other) if p is not None]
    names, codes = np.unique(np.concatenate([y, *given]), return_inverse=True)
    truth, *answers = np.split(codes.astype(np.int64), 1 + len(given))
    groups = _joined(attributes, len(y))
    scores = _scores(rows, truth, groups, len(np.unique(y)))
    if not answers:
        if scores is None:
            raise FttError(
                "there is nothing to audit",
                given="neither predictions nor features",
                allowed="a column of predictions, features, or both",
            )
        answers = [scores.logits.argmax(axis=1)]
    right = answers[0] == truth
    columns = {"label": y, **attributes}
    found = crossed_groups(right, columns, fewest=fewest, deepest=DEEPEST)
    return Audit(
        name=name,
        overall=Rate(int(right.sum()), len(right)),
        groups=found,
        columns=tuple(columns),
        labels=tuple(map(str, names)),
        given=truth,
        ids=np.arange(len(y)).astype(np.str_) if rows.ids is None else _column("ids", rows.ids, len(y)),
        following={
            key: follow(answers[0], truth, np.unique(column, return_inverse=True)[1].astype(np.int64))
            for key, column in attributes.items()
        },
        differences=_differences(right, answers[1] == truth, columns, found) if len(answers) > 1 else {},
        adjusted=_adjusted(right, columns, rows.train),
        issues=_issues(scores, groups),
        warnings=tuple(_warnings(answers[0], truth, names)),
    )


def _column(name: str, values: npt.ArrayLike, n: int | None) -> StrArray:
    made: npt.NDArray[Any] = np.asarray(values)
    if made.ndim != 1 or (n is not None and len(made) != n) or len(made) == 0:
        wanted = "at least one row" if n is None else f"{n} values, one per row"
        raise FttError(f"{name} must be one column of the audited rows", given=f"shape {made.shape}", allowed=wanted)
    return made.astype(np.str_)


def _joined(attributes: Mapping[str, StrArray], n: int) -> IntArray:
    """(n,) code of the combination of all attributes."""
    if not attributes:
        return np.zeros(n, dtype=np.int64)
    coded = np.stack([np.unique(column, return_inverse=True)[1] for column in attributes.values()], axis=1)
    return np.unique(coded, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _scores(rows: Rows, y: IntArray, groups: IntArray, classes: int) -> Scores | None:
    """What labels are judged by: given probabilities, or out-of-fold scores on the features."""
    if rows.probabilities is not None:
        p: FloatArray = np.asarray(rows.probabilities, dtype=np.float64)
        if p.shape != (len(y), classes) or not np.isfinite(p).all() or p.min() < 0:
            raise FttError(
                "probabilities must have one column per label, in sorted order",
                given=f"shape {p.shape}",
                allowed=f"({len(y)}, {classes}), numbers from 0 on",
            )
        return Scores(np.log(np.maximum(p, 1e-12)), y, float("nan"))
    if rows.features is None:
        return None
    phi: FloatArray = np.asarray(rows.features, dtype=np.float32)
    if phi.ndim != 2 or len(phi) != len(y) or not np.isfinite(phi).all():
        raise FttError(
            "features must be a table of finite numbers, one row per label",
            given=f"shape {phi.shape}",
            allowed=f"({len(y)}, d)",
        )
    return None if np.bincount(y).min() < FOLDS else out_of_fold(phi, y, groups)


def _issues(scores: Scores | None, groups: IntArray) -> LabelIssues | None:
    return find(scores, groups) if scores is not None and scores.informative else None


def _differences(
    right: npt.NDArray[np.bool_],
    other: npt.NDArray[np.bool_],
    columns: Mapping[str, StrArray],
    groups: list[CrossedGroup],
) -> dict[str, Difference]:
    """Paired differences by group, with bootstrap intervals over rows."""
    rng, made = np.random.default_rng(0), {}
    gap = right.astype(np.float64) - other
    everything = [("all rows", np.arange(len(gap)))]
    for group in groups:
        member = np.logical_and.reduce([columns[column] == value for column, value in group.parts])
        everything.append((group.name, np.flatnonzero(member)))
    for name, rows in everything:
        # Three outcomes per row: resampling rows is drawing their counts.
        counts = np.array([(gap[rows] == value).sum() for value in (-1, 0, 1)])
        drawn = rng.multinomial(len(rows), counts / len(rows), DRAWS) @ np.array([-1, 0, 1]) / len(rows)
        low, high = np.quantile(drawn, (0.025, 0.975))
        made[name] = Difference(float(gap[rows].mean()), float(low), float(high))
    return made


def _adjusted(
    right: npt.NDArray[np.bool_], columns: Mapping[str, StrArray], train: Mapping[tuple[str, ...], float]
) -> float | None:
    """WILDS' average; None without training counts, or where a group of training has no rows here."""
    if not train:
        return None
    cells = [g for g in crossed_groups(right, columns) if len(g.parts) == len(columns)]
    rates = {tuple(value for _, value in group.parts): group.rate for group in cells}
    return None if any(group not in rates for group, n in train.items() if n) else adjusted_average(rates, train)


def _warnings(predicted: IntArray, y: IntArray, names: npt.NDArray[Any]) -> list[str]:
    shares = np.bincount(predicted) / len(predicted)
    most = int(shares.argmax())
    if shares[most] < ONE_CLASS or len(np.unique(y)) == 1 or (y == most).mean() >= ONE_CLASS:
        return []
    return [f"the model has collapsed: {shares[most]:.1%} of its predictions are {names[most]}"]
