"""Problems on the same rows, solved in order of C: each starts from the best mixture of the solutions before it.

Solutions move slowly with C, so that little is left to do for the next one; from zero, the largest values of C take
more iterations than all the others together. A mixture of some solutions is found by Newton steps on its few
coefficients: scores mix like weights, so that no feature is read. Solutions on other rows are never mixed in: these
rows may be held out from this problem.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ftt.arrays import FloatArray, IntArray
from ftt.probe.lbfgs import Table, probabilities
from ftt.probe.problems import Problems

MIXED = 4
"""Solutions that are mixed at most: those of the nearest values of C."""

_STEPS = 2
_SLOPE_LEFT = 0.1
_RIDGE = 1e-6


def families(problems: Problems) -> tuple[IntArray, IntArray]:
    """For every problem the number of its rows' family, and its rank by C in it, smallest first, (J,) each.

    Parameters
    ----------
    problems : Problems
        Without repetitions, problems on the same rows sharing one array (`ftt.probe.problems.distinct`).
    """
    numbers: dict[int, int] = {}
    family = np.array([numbers.setdefault(id(rows), len(numbers)) for rows in problems.rows])
    order = np.lexsort((problems.C, family))
    rank = np.empty(len(family), dtype=np.intp)
    sizes = np.bincount(family)
    rank[order] = np.arange(len(family)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return family, rank


def best_mixture(
    table: Table, share: FloatArray, penalty: FloatArray, past: Sequence[tuple[FloatArray, FloatArray]]
) -> tuple[FloatArray, FloatArray]:
    """Weights and scores of the mixture of earlier solutions that is best for each problem.

    Parameters
    ----------
    table : Table
    share : array (J, n)
    penalty : array (J,)
    past : sequence of (weights, scores)
        Solutions at smaller C, the nearest last, (J, K', d + 1) and (J, K', n).
    """
    weights, scores = (np.stack(parts, axis=1) for parts in zip(*past[-MIXED:], strict=True))
    J, q = weights.shape[:2]
    flat = weights[..., :-1].reshape(J, q, -1)
    bent = penalty[:, None, None] * (flat @ flat.swapaxes(1, 2))
    mixture = np.zeros((J, q), dtype=scores.dtype)
    mixture[:, -1] = 1
    nearest = mixture.copy()
    for step in range(_STEPS + 1):
        mixed = _mix(mixture, scores)
        chance = probabilities(mixed)
        pull = (chance - table.target) * share[:, None, :]
        slope = (scores.reshape(J, q, -1) @ pull.reshape(J, -1, 1) + bent @ mixture[:, :, None])[:, :, 0]
        if step == 0:
            first = slope
        if step < _STEPS:
            mixture -= _newton(slope, _curvature(scores, chance, share) + bent)
    # The objective is convex: a slope towards the mixture that is still falling there, or nearly so, has only fallen.
    way = mixture - nearest
    better = (slope * way).sum(axis=1) <= -_SLOPE_LEFT * (first * way).sum(axis=1)
    mixture = np.where((better & np.isfinite(way).all(axis=1))[:, None], mixture, nearest)
    return _mix(mixture, weights), _mix(mixture, scores)


def _mix(mixture: FloatArray, parts: FloatArray) -> FloatArray:
    J, q = mixture.shape
    mixed: FloatArray = (mixture[:, None, :] @ parts.reshape(J, q, -1)).reshape(J, *parts.shape[2:])
    return mixed


def _curvature(scores: FloatArray, chance: FloatArray, share: FloatArray) -> FloatArray:
    """Second derivatives of the mean loss with respect to the coefficients, (J, q, q)."""
    J, q = scores.shape[:2]
    likely = scores * chance[:, None]
    flat = (likely * share[:, None, None, :]).reshape(J, q, -1)
    mean = likely.sum(axis=2)
    curvature: FloatArray = flat @ scores.reshape(J, q, -1).swapaxes(1, 2)
    curvature -= (mean * share[:, None, :]) @ mean.swapaxes(1, 2)
    return curvature


def _newton(slope: FloatArray, curvature: FloatArray) -> FloatArray:
    """A Newton step; neighbouring solutions are nearly parallel, so that a little is added to the diagonal."""
    wide = curvature.astype(np.float64)
    diagonal = np.einsum("jaa->ja", wide)
    diagonal += _RIDGE * diagonal.max(axis=1, keepdims=True) + np.finfo(np.float64).tiny
    step: FloatArray = np.linalg.solve(wide, slope.astype(np.float64)[:, :, None])[:, :, 0]
    return step.astype(slope.dtype)
