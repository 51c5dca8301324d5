"""Many logistic regressions on subsets of the same rows: the problems and their solutions.

Problem j is scikit-learn's ``LogisticRegression(C=C[j])`` on the rows ``rows[j]``; a row listed twice weighs twice:

    minimise over w, b:   ½‖w‖² + C Σᵢ loss(yᵢ, w·xᵢ + b)        (the intercept b is not penalised)

Gradients are those of this objective divided by C·n, the quantity whose largest entry scikit-learn's lbfgs compares
with its tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftt.arrays import BoolArray, FloatArray, IntArray
from ftt.errors import FttError


@dataclass(frozen=True)
class Fits:
    """The solutions of J problems.

    Attributes
    ----------
    coef : array (J, K', d)
        Weights; K' is 1 for two classes (the log-odds of class 1), the number of classes otherwise.
    intercept : array (J, K')
    gradient : array (J,)
        The largest entry of the gradient of the mean objective at the solution.
    converged : array (J,)
        Whether `gradient` reached the tolerance.
    iterations : array (J,)
        Iterations of the solver.
    scores : array (J, K', n), optional
        Scores of all rows of X, where the gradient was judged by them.
    """

    coef: FloatArray
    intercept: FloatArray
    gradient: FloatArray
    converged: BoolArray
    iterations: IntArray
    scores: FloatArray | None = None

    def __getitem__(self, part: slice | IntArray) -> Fits:
        """The solutions of some of the problems."""
        scores = None if self.scores is None else self.scores[part]
        found = self.coef[part], self.intercept[part], self.gradient[part], self.converged[part], self.iterations[part]
        return Fits(*found, scores)


@dataclass(frozen=True)
class Problems:
    """J checked problems over one matrix.

    Attributes
    ----------
    X : array (n, d), float32 or float64
    y : array (n,)
        Classes 0 … K−1.
    rows : tuple of J arrays
        Row indices of each problem; repeats are weights.
    C : array (J,)
    n_classes : int
    """

    X: FloatArray
    y: IntArray
    rows: tuple[IntArray, ...]
    C: NDArray[np.float64]
    n_classes: int

    @property
    def penalty(self) -> NDArray[np.float64]:
        """Weight of ½‖w‖² in the mean objective of each problem, 1/(C·n)."""
        sizes = np.array([len(subset) for subset in self.rows], dtype=np.float64)
        return np.reciprocal(self.C * sizes)

    @property
    def outputs(self) -> int:
        """Linear functions per problem: one for two classes, as in scikit-learn."""
        return 1 if self.n_classes == 2 else self.n_classes


def check_problems(
    X: ArrayLike,
    y: ArrayLike,
    rows: Sequence[ArrayLike],
    C: Sequence[float] | ArrayLike,
    n_classes: int | None,
    *,
    checked: bool = False,
) -> Problems:
    """Check the problems and bring them to one form.

    Rows that no problem uses are left out, so that nothing that follows can depend on them; features that are known to
    be finite and to vary keep all rows.
    """
    features, labels = np.asarray(X), np.asarray(y)
    if features.dtype not in (np.float32, np.float64):
        features = features.astype(np.float64)
    if features.ndim != 2 or labels.shape != features.shape[:1]:
        raise FttError(
            "X and y have incompatible shapes",
            given=f"X {features.shape}, y {labels.shape}",
            allowed="X (n, d), y (n,)",
        )
    if not np.issubdtype(labels.dtype, np.integer):
        raise FttError("labels must be integers", given=labels.dtype, allowed="0, 1, …, K-1")
    strengths = np.asarray(C, dtype=np.float64)
    if strengths.shape != (len(rows),) or len(rows) == 0:
        raise FttError(
            "rows and C must have one entry per problem",
            given=f"{len(rows)} index arrays, C of shape {strengths.shape}",
        )
    if not (np.isfinite(strengths).all() and (strengths > 0).all()):
        raise FttError("C must be positive and finite", given=strengths.tolist(), allowed="0 < C")
    # Problems that differ in C only are given the same array, which is then checked once.
    own: dict[int, IntArray] = {}
    given = list(rows)
    for j, subset in enumerate(given):
        if id(subset) not in own:
            own[id(subset)] = _check_rows(np.asarray(subset), j, len(features))
    present = np.zeros(len(features), dtype=bool)
    for indices in own.values():
        present[indices] = True
    used = np.flatnonzero(present)
    if len(used) < len(features) and not checked:
        position = np.cumsum(present) - 1
        features, labels = features[used], labels[used]
        own = {name: position[indices] for name, indices in own.items()}
    if not checked:
        check_finite(features, used)
        check_varies(features)
    classes = int(labels.max()) + 1 if n_classes is None else n_classes
    if labels.min() < 0 or labels.max() >= classes:
        raise FttError("y contains labels outside the classes", given=np.unique(labels), allowed=f"0 … {classes - 1}")
    first = {id(subset): j for j, subset in reversed(list(enumerate(given)))}
    for name, indices in own.items():
        _check_classes(labels[indices], first[name], classes)
    return Problems(features, labels, tuple(own[id(subset)] for subset in given), strengths, classes)


def distinct(problems: Problems) -> tuple[Problems, IntArray]:
    """The problems without repetitions, and for each problem as given the position of its equal.

    Two problems are equal if they have the same C and the same rows, in whatever order: where groups are equally large,
    every balanced sample is the same set of rows. Problems on the same rows then share one array of them.
    """
    shared: dict[bytes, IntArray] = {}
    sorted_: dict[int, IntArray] = {}
    places: dict[tuple[int, float], int] = {}
    rows: list[IntArray] = []
    place = np.empty(len(problems.rows), dtype=np.intp)
    for j, subset in enumerate(problems.rows):
        if id(subset) not in sorted_:
            ordered = np.sort(subset)
            sorted_[id(subset)] = shared.setdefault(ordered.tobytes(), ordered)
        own = sorted_[id(subset)]
        place[j] = places.setdefault((id(own), float(problems.C[j])), len(places))
        if place[j] == len(rows):
            rows.append(own)
    C = np.array([C for _, C in places])
    return replace(problems, rows=tuple(rows), C=C), place


def _check_rows(rows: IntArray, j: int, n: int) -> IntArray:
    if rows.ndim != 1 or rows.size == 0 or not np.issubdtype(rows.dtype, np.integer):
        raise FttError(
            f"problem {j} has invalid rows", given=f"{rows.dtype} {rows.shape}", allowed="one or more row indices"
        )
    if rows.min() < 0 or rows.max() >= n:
        raise FttError(f"problem {j} has row indices out of range", given=int(rows.max()), allowed=f"0 … {n - 1}")
    return rows.astype(np.intp, copy=False)


def check_finite(X: FloatArray, names: IntArray) -> None:
    """Raise an error if a value is not finite or too large to be squared; `names` are the numbers of the rows."""
    # Sums are finite only where every value is, and a product takes less time. In float32 no value is above the bound.
    with np.errstate(over="ignore", invalid="ignore"):
        if X.dtype == np.float32 and np.isfinite(X @ np.ones(X.shape[1], dtype=X.dtype)).all():
            return
    with np.errstate(invalid="ignore"):
        largest = np.maximum(X.max(axis=1), -X.min(axis=1)).astype(np.float64)
    # Written so that NaN fails too. Beyond the bound squares overflow even in double precision.
    bad = names[~(largest <= 1e100)]
    if bad.size:
        raise FttError(
            "features contain NaN, infinity or values above 1e100",
            given=f"{bad.size} of {len(X)} rows, the first is row {bad[0]}",
            allowed="finite values",
            hint="drop or repair these rows before probing",
        )


def check_varies(X: FloatArray) -> None:
    """Raise an error if all features are constant.

    Single constant features are common (units of a network that are always zero) and harmless: their weights are zero.
    """
    # Two rows are enough to decide in nearly every case.
    if (X[:2] == X[0]).all() and (X[0] == X).all():
        raise FttError(
            "no feature varies, so there is nothing to fit",
            given=f"{X.shape[0]} equal rows of {X.shape[1]} features",
            allowed="at least one feature that is not constant",
            hint="check the inputs and the backbone",
        )


def _check_classes(labels: IntArray, j: int, n_classes: int) -> None:
    missing = np.flatnonzero(np.bincount(labels, minlength=n_classes) == 0)
    if n_classes < 2 or missing.size:
        raise FttError(
            f"problem {j} does not contain every class, so its weights would be infinite",
            given=f"classes {np.unique(labels).tolist()}",
            allowed=f"at least two classes, all of 0 … {max(n_classes, 2) - 1}",
            hint="use more rows, or merge rare classes",
        )


def mean_gradient(problems: Problems, j: int, coef: FloatArray, intercept: FloatArray) -> float:
    """The largest entry of the gradient of problem j's mean objective at one solution, in float64.

    Parameters
    ----------
    problems : Problems
    j : int
    coef : array (K', d)
    intercept : array (K',)
    """
    rows = problems.rows[j]
    A, labels = problems.X[rows].astype(np.float64), problems.y[rows]
    scores = A @ coef.T + intercept
    if problems.n_classes == 2:
        residual = 0.5 * (1 + np.tanh(scores / 2)) - labels[:, None]
    else:
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        residual = scores / scores.sum(axis=1, keepdims=True) - np.eye(problems.n_classes)[labels]
    slope = residual.T @ A / len(rows) + coef / (problems.C[j] * len(rows))
    return float(max(np.abs(slope).max(), np.abs(residual.mean(axis=0)).max()))
