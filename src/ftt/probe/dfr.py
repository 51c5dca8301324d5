"""Test-time probing: the last layer retrained on a little balanced data of the target environment.

The protocol of deep feature reweighting (Kirichenko et al., 2022) as the paper runs it. Choose C: several times, draw
equally many rows of every attribute value, split them into halves, fit on one half, take the worst-group accuracy on
the other; the best mean decides and ties keep the larger C. Then fit on several balanced samples of all rows at that C
and average the weights. L2 penalty, no scaling. Groups are the attribute values only: labels are noisy, and groups
made from wrong labels mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ftt.arrays import FloatArray, IntArray
from ftt.errors import FttError
from ftt.probe.blocks import RATIOS, block_members, check_ratios
from ftt.probe.judging import CRITERIA
from ftt.probe.parameters import (
    COUNT,
    FITS,
    POSITIVE,
    RANDOM_STATE,
    RandomState,
    check_parameters,
    draw_seed,
    encode_attribute,
)
from ftt.probe.protocol import Choice, Outcome, draw_rows, probe_together
from ftt.probe.solving import ScaledFeatures

PAPER_GRID = (10.0, 5.0, 1.0, 0.5, 0.1, 0.05, 0.01)
WIDE_GRID = (*PAPER_GRID, 0.005, 0.001, 5e-4, 1e-4)
"""The paper's values run out at the small end when features are not scaled; these go on downwards."""

DFR_GRID = (1.0, 0.7, 0.3, 0.1, 0.07, 0.03, 0.01)
"""The values of deep feature reweighting itself, for its L1 penalty."""

GRIDS = {"paper": PAPER_GRID, "wide": WIDE_GRID, "dfr": DFR_GRID}
PENALTIES = ("l2", "l1")
GROUPINGS = ("attribute", "label-attribute")
FEWEST = 4
"""Rows of an attribute value below which halves cannot be fitted and judged."""

CONSTRAINTS: dict[str, list[Any]] = {
    "grid": [StrOptions(set(GRIDS)), "array-like"],
    "repeats": [FITS],
    "averages": [FITS],
    "penalty": [StrOptions(set(PENALTIES))],
    "groups": [StrOptions(set(GROUPINGS))],
    "scale": ["boolean"],
    "tol": [POSITIVE],
    "max_iter": [COUNT],
    "blocks": ["array-like", None],
    "ratios": ["array-like"],
    "criterion": [StrOptions(set(CRITERIA))],
    "random_state": RANDOM_STATE,
}

_BUDGET = 2**28
"""Bytes the weights of one call may take; more seeds are fitted in several calls."""


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
    max_iter : int
        Iterations after which a fit that has not converged is stopped.
    blocks : sequence of int or slice, optional
        Widths of adjacent blocks of columns, or a slice per block. Blocks are brought to unit mean variance and each
        gets a penalty of its own, chosen together with C; see `ftt.probe.blocks` for the formula and its limits.
    ratios : sequence of float
        Scales tried for each block relative to the others; only used with `blocks`.
    criterion : {"worst-group", "log-loss", "calibrated-log-loss"}
        What decides on the held-out halves: worst-group accuracy (the paper), or the log-loss averaged over groups, as
        it is or at the best temperature; see `ftt.probe.judging`.
    random_state : int, RandomState, Generator or None
        Randomness of the samples; None draws other samples at every fit.

    Attributes
    ----------
    C_ : float
        The chosen value.
    coef_, intercept_ : arrays
        Averaged weights, in scikit-learn's shapes.
    worst_by_C_ : dict of float to float
        Mean held-out worst-group accuracy, at the chosen ratios.
    ratios_ : tuple of float
        The chosen ratio of each block.
    held_out_ : dict of arrays
        What was tried, in order: `ratios` (t, B) and `C` (t,), with their mean held-out `score` (t,) by the criterion,
        larger being better.
    at_edge_ : bool
        Whether C_ is the smallest of the grid, so that a smaller one may be better.
    converged_ : bool
        Whether every fit reached `tol`.
    n_iter_ : int
        Iterations of the fit that took most.

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
        max_iter: int = 1000,
        blocks: Sequence[int] | Sequence[slice] | None = None,
        ratios: Sequence[float] = RATIOS,
        criterion: str = "worst-group",
        random_state: RandomState = 0,
    ) -> None:
        self.grid = grid
        self.repeats = repeats
        self.averages = averages
        self.penalty = penalty
        self.groups = groups
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.blocks = blocks
        self.ratios = ratios
        self.criterion = criterion
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
        fit_together([self], X, y, attribute)
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


def fit_together(probes: Sequence[DFRProbe], X: Any, y: Any, attribute: Any = None) -> Sequence[DFRProbe]:
    """Fit probes that differ in `random_state` only, on the same data: each as if alone, in a fraction of the time.

    The fits of all probes that choose C are solved in one call (one per candidate ratio of blocks), then the averaged
    ones of all, each at its own C.

    Parameters
    ----------
    probes : sequence of DFRProbe
        Fitted in place.
    X, y, attribute
        As in `DFRProbe.fit`.

    Returns
    -------
    sequence of DFRProbe
        The same probes.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> a, y = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    >>> X = np.c_[y + 0.3 * rng.standard_normal(400), a]
    >>> [probe.C_ for probe in fit_together([DFRProbe(random_state=seed) for seed in range(3)], X, y, a)]
    [10.0, 1.0, 1.0]
    """
    first = _check_alike(probes)
    for other in probes[1:]:
        validate_data(other, X, skip_check_array=True)
    # Whether values are finite is checked below, in a third of the time and by row.
    X, y = validate_data(first, X, y, dtype=[np.float64, np.float32], ensure_all_finite=False)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise FttError("the probing data has one class only", given=classes.tolist(), allowed="two or more classes")
    groups = _encode_groups(attribute, classes, codes, first.groups)
    members = None if first.blocks is None else block_members(first.blocks, X.shape[1])
    solver = {"n_classes": len(classes), "tol": first.tol, "max_iter": first.max_iter}
    features = ScaledFeatures(X, codes, members, scale=first.scale, penalty=first.penalty, **solver)
    count = 1 if members is None else int(members.max()) + 1
    choice = Choice(_check_grid(first.grid), count, check_ratios(first.ratios), first.criterion)
    each = len(choice.grid) * first.repeats * (1 if len(classes) == 2 else len(classes)) * X.shape[1] * 8
    at_once = max(1, _BUDGET // each)
    for start in range(0, len(probes), at_once):
        part = probes[start : start + at_once]
        draws = [
            draw_rows(codes, groups, probe.repeats, probe.averages, draw_seed(probe.random_state), classes=classes)
            for probe in part
        ]
        for probe, outcome in zip(part, probe_together(codes, groups, draws, choice, features.at), strict=True):
            probe.classes_ = classes
            _keep(probe, outcome, features.divisors(outcome.ratios), min(choice.grid))
            probe.intercept_ = probe.intercept_ - probe.coef_ @ features.centre
    return probes


def _keep(probe: DFRProbe, outcome: Outcome, divisors: FloatArray, smallest: float) -> None:
    """Write an outcome into its probe; weights on scaled features become weights on the features as they came."""
    probe.C_, probe.ratios_ = outcome.C, outcome.ratios
    probe.coef_, probe.intercept_ = outcome.coef / divisors, outcome.intercept
    probe.worst_by_C_ = outcome.judged[outcome.ratios].worst
    tried = [(ratios, *item) for ratios, judged in outcome.judged.items() for item in judged.score.items()]
    probe.held_out_ = {
        name: np.array(column) for name, column in zip(("ratios", "C", "score"), zip(*tried, strict=True), strict=True)
    }
    probe.at_edge_ = len(probe.worst_by_C_) > 1 and smallest == outcome.C
    probe.converged_, probe.n_iter_ = outcome.converged, outcome.iterations


def _check_alike(probes: Sequence[DFRProbe]) -> DFRProbe:
    """The first of probes that have valid settings and agree in all but `random_state`."""
    for probe in probes:
        check_parameters(probe, CONSTRAINTS)
    settings = [
        {
            **probe.get_params(),
            "grid": _check_grid(probe.grid),
            "ratios": check_ratios(probe.ratios),
            "blocks": None if probe.blocks is None else list(probe.blocks),
            "random_state": None,
        }
        for probe in probes
    ]
    if not settings or any(other != settings[0] for other in settings):
        raise FttError(
            "probes fitted together differ in more than random_state, or there are none",
            given=f"{len(probes)} probes",
            allowed="one or more probes with the same settings",
            hint="call fit on each probe",
        )
    return probes[0]


def _encode_groups(attribute: Any, classes: npt.NDArray[Any], y: IntArray, grouping: str) -> IntArray:
    """The group of every row, coded from 0 on without gaps; groups too small to balance are refused by name."""
    values, codes = encode_attribute(attribute, len(y))
    names = [f"attribute value {str(value)!r}" for value in values]
    if grouping == "label-attribute" and attribute is not None:
        codes = y * len(values) + codes
        names = [f"group of label {str(label)!r} and {name}" for label in classes for name in names]
    present, groups = np.unique(codes, return_inverse=True)
    counts = np.bincount(groups)
    if attribute is not None and counts.min() < FEWEST:
        raise FttError(
            f"the {names[present[counts.argmin()]]} has too few rows to balance the groups",
            given=f"{int(counts.min())} rows",
            allowed=f"at least {FEWEST}",
            hint="provide more probing rows of it, or merge it with another",
        )
    return groups.astype(np.int64)


def _check_grid(grid: str | Sequence[float]) -> tuple[float, ...]:
    if isinstance(grid, str):
        return GRIDS[grid]
    try:
        values = tuple(float(C) for C in grid)
    except (TypeError, ValueError):
        values = ()
    if not values or not all(0 < C < np.inf for C in values):
        raise FttError(
            "invalid value for the parameter 'grid' of DFRProbe",
            given=repr(grid),
            allowed=f"one or more finite values of C above 0, or one of {', '.join(map(repr, GRIDS))}",
        )
    return values
