"""Test-time probing: the last layer retrained on a little balanced data of the target environment.

The protocol of deep feature reweighting (Kirichenko et al., 2022) as the paper runs it. Choose C: several times, draw
equally many rows of every attribute value, split them into halves, fit on one half, take the worst-group accuracy on
the other; the best mean decides and ties keep the larger C. Then fit on several balanced samples of all rows at that C
and average the weights. L2 penalty, no scaling. Groups are the attribute values only: labels are noisy, and groups
made from wrong labels mean nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ftt.errors import FttError, unknown
from ftt.probe.logistic import Fits, fit_many
from ftt.probe.reference import fit_one_by_one

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.floating[Any]]

PAPER_GRID = (10.0, 5.0, 1.0, 0.5, 0.1, 0.05, 0.01)
WIDE_GRID = (*PAPER_GRID, 0.005, 0.001, 5e-4, 1e-4)
"""The paper's values run out at the small end when features are not scaled; these go on downwards."""

DFR_GRID = (1.0, 0.7, 0.3, 0.1, 0.07, 0.03, 0.01)
"""The values of deep feature reweighting itself, for its L1 penalty."""

GRIDS = {"paper": PAPER_GRID, "wide": WIDE_GRID, "dfr": DFR_GRID}
FEWEST = 4
"""Rows of an attribute value below which halves cannot be fitted and judged."""


class NotConvergedWarning(UserWarning):
    """Some logistic regressions stopped before their gradient was small enough."""


class DFRProbe(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Balanced, averaged logistic regression on features.

    Parameters
    ----------
    grid : {"wide", "paper", "dfr"} or sequence of float
        Values of C to choose from.
    repeats : int
        Half-and-half splits per C.
    averages : int
        Balanced samples whose weights are averaged.
    penalty : {"l2", "l1"}
        L2 (the paper) is solved for all fits together; L1 (DFR's own protocol) goes through scikit-learn one by one.
    groups : {"attribute", "label-attribute"}
        What is balanced and judged.
    scale : bool
        Bring every feature to unit variance first, as DFR's own protocol does.
    tol : float
        Largest gradient of a converged fit.
    random_state : int or None
        Seed of the samples.

    Attributes
    ----------
    C_ : float
        The chosen value.
    coef_, intercept_ : arrays
        Averaged weights, in scikit-learn's shapes.
    worst_by_C_ : dict of float to float
        Mean held-out worst-group accuracy.
    at_edge_ : bool
        Whether C_ is the smallest of the grid, so that a smaller one may be better.
    converged_ : bool
        Whether every fit reached `tol`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> a, y = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    >>> X = np.c_[y + 0.3 * rng.standard_normal(400), a]
    >>> float(DFRProbe().fit(X, y, attribute=a).score(X, y)) > 0.9
    True
    """

    __metadata_request__fit: ClassVar = {"attribute": True}

    def __init__(
        self,
        grid: str | Sequence[float] = "wide",
        repeats: int = 3,
        averages: int = 10,
        penalty: str = "l2",
        groups: str = "attribute",
        scale: bool = False,
        tol: float = 1e-4,
        random_state: int | None = 0,
    ) -> None:
        self.grid = grid
        self.repeats = repeats
        self.averages = averages
        self.penalty = penalty
        self.groups = groups
        self.scale = scale
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any, attribute: Any = None) -> Self:
        """Choose C, then fit and average.

        Parameters
        ----------
        X : (n, d) array
            Features.
        y : (n,) array
            Observed labels.
        attribute : (n,) array, optional
            Groups to balance; without it all rows are one group.
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise FttError("the probing data has one class only", given=self.classes_.tolist(), allowed="two or more")
        groups = _encode_groups(self._grouping(attribute, codes), len(y))
        grid = _check_grid(self.grid)
        spread = X.std(axis=0) if self.scale else np.ones(X.shape[1], dtype=X.dtype)
        spread = np.where(spread > 0, spread, 1).astype(X.dtype)
        X = X / spread if self.scale else X
        rng = np.random.default_rng(self.random_state)
        fits, halves = self._halves(X, codes, groups, grid, rng)
        self.worst_by_C_ = _held_out_worst(X, codes, groups, fits, halves, grid)
        best = max(self.worst_by_C_.values())
        self.C_ = max(C for C, score in self.worst_by_C_.items() if score == best)
        self.at_edge_ = bool(len(grid) > 1 and min(grid) == self.C_)
        samples = [balanced(groups, rng) for _ in range(self.averages)]
        final = self._solve(X, codes, samples, [self.C_] * len(samples))
        # Weights on scaled features become weights on the features as they came.
        self.coef_ = final.coef.mean(axis=0) / spread
        self.intercept_ = final.intercept.mean(axis=0)
        self.converged_ = bool(fits.converged.all() and final.converged.all())
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """(n,) scores of the second class for two classes, (n, K) otherwise."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        scores: FloatArray = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """(n,) predicted labels."""
        scores = self.decision_function(X)
        picked: npt.NDArray[Any] = self.classes_[
            (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        ]
        return picked

    def predict_proba(self, X: Any) -> FloatArray:
        """(n, K) probabilities of the averaged model."""
        from scipy.special import softmax

        scores = self.decision_function(X)
        logits = np.stack([np.zeros_like(scores), scores], axis=1) if scores.ndim == 1 else scores
        probabilities: FloatArray = softmax(logits, axis=1)
        return probabilities

    def _grouping(self, attribute: Any, y: IntArray) -> Any:
        if self.groups == "attribute" or attribute is None:
            return attribute
        if self.groups != "label-attribute":
            raise unknown("grouping", self.groups, ("attribute", "label-attribute"))
        values, codes = np.unique(np.asarray(attribute), return_inverse=True)
        return y * len(values) + codes

    def _halves(
        self, X: FloatArray, y: IntArray, groups: IntArray, grid: tuple[float, ...], rng: np.random.Generator
    ) -> tuple[Fits, list[tuple[IntArray, IntArray]]]:
        """All fits that choose C: every C on the same halves, so that they are compared on the same data."""
        halves = [_split_in_halves(y, groups, rng) for _ in range(self.repeats)]
        rows = [first for first, _ in halves for _ in grid]
        return self._solve(X, y, rows, list(grid) * len(halves)), halves

    def _solve(self, X: FloatArray, y: IntArray, rows: list[IntArray], C: list[float]) -> Fits:
        if self.penalty == "l2":
            fits = fit_many(X, y, rows, C, n_classes=len(self.classes_), tol=self.tol)
        elif self.penalty == "l1":
            fits = fit_one_by_one(X, y, rows, C, n_classes=len(self.classes_), tol=self.tol, penalty="l1")
        else:
            raise unknown("penalty", self.penalty, ("l2", "l1"))
        if not fits.converged.all():
            late = sorted({C[j] for j in np.flatnonzero(~fits.converged)})
            warnings.warn(
                f"{int((~fits.converged).sum())} of {len(C)} logistic regressions did not converge "
                f"(C = {', '.join(f'{c:g}' for c in late)}; "
                f"largest gradient {np.nanmax(fits.gradient, initial=0):.1e})",
                NotConvergedWarning,
                stacklevel=3,
            )
        return fits


def balanced(groups: IntArray, rng: np.random.Generator) -> IntArray:
    """Rows of a sample with as many rows of every group as the smallest group has, shuffled."""
    smallest = np.bincount(groups).min()
    picked = [
        rng.choice(np.flatnonzero(groups == group), size=smallest, replace=False) for group in range(groups.max() + 1)
    ]
    return rng.permutation(np.concatenate(picked))


def _split_in_halves(y: IntArray, groups: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """A balanced sample in two halves; drawn again while the first half lacks a class (tiny data only)."""
    for _ in range(100):
        sample = balanced(groups, rng)
        first, second = sample[: len(sample) // 2], sample[len(sample) // 2 :]
        if len(np.unique(y[first])) == len(np.unique(y)):
            return first, second
    raise FttError(
        "half of a balanced sample never holds all classes",
        given=f"{len(y)} rows, class counts {np.bincount(y).tolist()}, group counts {np.bincount(groups).tolist()}",
        allowed="several rows of every class for every attribute value",
        hint="give more probing data",
    )


def _held_out_worst(
    X: FloatArray,
    y: IntArray,
    groups: IntArray,
    fits: Fits,
    halves: list[tuple[IntArray, IntArray]],
    grid: tuple[float, ...],
) -> dict[float, float]:
    """Mean worst-group accuracy on the halves that the fits did not see, by C."""
    worst = np.empty((len(halves), len(grid)))
    for repeat, (_, held_out) in enumerate(halves):
        own = slice(repeat * len(grid), (repeat + 1) * len(grid))
        scores = np.einsum("nd,jkd->jnk", X[held_out], fits.coef[own], optimize=True) + fits.intercept[own][:, None, :]
        predicted = (scores[..., 0] > 0).astype(int) if scores.shape[2] == 1 else scores.argmax(axis=2)
        right = predicted == y[held_out]
        worst[repeat] = np.min(
            [right[:, groups[held_out] == g].mean(axis=1) for g in np.unique(groups[held_out])], axis=0
        )
    return dict(zip(grid, worst.mean(axis=0).tolist(), strict=True))


def _encode_groups(attribute: Any, n: int) -> IntArray:
    if attribute is None:
        return np.zeros(n, dtype=np.int64)
    values, groups = np.unique(np.asarray(attribute), return_inverse=True)
    if len(groups) != n:
        raise FttError("attribute and y differ in length", given=len(groups), allowed=n)
    counts = np.bincount(groups)
    if counts.min() < FEWEST:
        raise FttError(
            f"the attribute value {str(values[counts.argmin()])!r} has too few rows to balance the groups",
            given=f"{int(counts.min())} rows",
            allowed=f"at least {FEWEST}",
            hint="give more probing rows of that value, or merge it with another",
        )
    return groups.astype(np.int64)


def _check_grid(grid: str | Sequence[float]) -> tuple[float, ...]:
    if isinstance(grid, str):
        if grid not in GRIDS:
            raise unknown("grid", grid, GRIDS)
        return GRIDS[grid]
    values = tuple(float(C) for C in grid)
    if not values or min(values) <= 0:
        raise FttError("the grid of C is not usable", given=grid, allowed="one or more numbers above 0")
    return values
