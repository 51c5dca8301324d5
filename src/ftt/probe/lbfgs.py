"""L-BFGS on many logistic regressions at once: what one fit does to a vector, this does to a matrix.

All problems share the rows; each has its own weights over them, zero where a row is not its own. So one iteration
of all problems is two matrix products, however many they are. A problem leaves when its gradient is small enough.

The line search follows the slope along the direction, not the value of the objective: the slope is monotone because
the problem is convex, and it stays accurate in single precision long after differences of values are lost to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ftt.arrays import BoolArray, FloatArray, IntArray
from ftt.probe.precondition import Spectrum
from ftt.probe.products import scores_of, times_rows

MEMORY = 2
"""Pairs of steps and gradient changes kept; more cost time and, with this preconditioner, save no steps."""

_FEW = 4
"""Problems up to which it is worth asking for the rows that none of them uses."""

_NEARLY_ALL = 0.95

_SLOPE_LEFT = 0.2
_TRIALS = 20
_LEAST_CURVATURE = 1e-6


@dataclass(frozen=True)
class Table:
    """What all problems share.

    Attributes
    ----------
    X : array (n, d)
        Rows, with or without their mean.
    mean : array (d,)
        Of the features as they were given. Weights and scores are those of features without it: a large mean in every
        row would make the intercept and the weights pull at each other.
    target : array (K', n)
        The label for two classes, one row per class otherwise.
    spectrum : Spectrum
    centred : bool
        Whether the mean is subtracted from X already. Where it is not, products are corrected for it.
    """

    X: FloatArray
    mean: FloatArray
    target: FloatArray
    spectrum: Spectrum
    centred: bool = True


def probabilities(scores: FloatArray) -> FloatArray:
    """Sigmoid of one score, or softmax over several.

    Parameters
    ----------
    scores : array (J, K', n)
    """
    if scores.shape[1] == 1:
        half: FloatArray = scores * 0.5
        np.tanh(half, out=half)
        half += 1
        half *= 0.5
        return half
    shifted: FloatArray = scores - scores.max(axis=1, keepdims=True)
    np.exp(shifted, out=shifted)
    shifted /= shifted.sum(axis=1, keepdims=True)
    return shifted


class Descent:
    """The problems that are still open; the first axis of every array counts them.

    Parameters
    ----------
    table : Table
    share : array (J, n)
        How much of problem j each row is; rows sum to one.
    penalty : array (J,)
        1/(C·n) of each problem.
    start : array (J, K', d + 1)
        Weights, the intercept last.
    scores : array (J, K', n), optional
        Scores of the start, where they are known.
    """

    def __init__(
        self,
        table: Table,
        share: FloatArray,
        penalty: FloatArray,
        start: FloatArray,
        scores: FloatArray | None = None,
    ) -> None:
        self.table = table
        self.index = np.arange(len(start))
        self.share = share
        self.penalty = penalty.astype(share.dtype)
        self.used = _used(share)
        self.weights = start.astype(share.dtype)
        self.scores = self._score(self.weights) if scores is None else scores.copy()
        self.chance = probabilities(self.scores)
        self.gradient = self._gradient()
        self.steps: list[FloatArray] = []
        self.changes: list[FloatArray] = []
        self.inverse_products: list[FloatArray] = []

    def largest_gradient(self) -> FloatArray:
        """The largest entry of each gradient with respect to the features as they were given, (J,)."""
        slope, level = self.gradient[:, :, :-1], self.gradient[:, :, -1:]
        # Subtracting the mean leaves the weights as they are, but not their gradients.
        largest = np.abs(slope + level * self.table.mean).max(axis=(1, 2))
        result: FloatArray = np.maximum(largest, np.abs(level).max(axis=(1, 2)))
        return result

    def keep(self, open_: BoolArray) -> None:
        """Drop the problems that are done."""
        if open_.all():
            return
        for name in ("index", "share", "penalty", "weights", "scores", "chance", "gradient"):
            setattr(self, name, getattr(self, name)[open_])
        for history in (self.steps, self.changes, self.inverse_products):
            history[:] = [item[open_] for item in history]
        self.used = _used(self.share)

    def advance(self) -> None:
        """One iteration: direction, line search, new gradient."""
        direction = self._direction()
        slope = _dot(self.gradient, direction)
        uphill = slope >= 0
        if uphill.any():
            # Rounding spoiled the memory of these problems: they start afresh from the preconditioned gradient.
            for products in self.inverse_products:
                products[uphill] = 0
            direction = self._direction()
            slope = _dot(self.gradient, direction)
        moved = self._score(direction)
        length = self._search(direction, moved, slope)[:, None, None]
        direction *= length
        moved *= length
        self.weights += direction
        self.scores += moved
        self.chance = probabilities(self.scores)
        before, self.gradient = self.gradient, self._gradient()
        self._remember(direction, self.gradient - before)

    def _score(self, weights: FloatArray) -> FloatArray:
        J, K, d1 = weights.shape
        flat = np.ascontiguousarray(weights.reshape(J * K, d1)[:, :-1])
        found = scores_of(self.table.X, flat, self.used).reshape(J, K, -1)
        level = weights[:, :, -1:]
        if not self.table.centred:
            level = level - weights[:, :, :-1] @ self.table.mean[:, None]
        found += level
        return found

    def _gradient(self) -> FloatArray:
        residual = self.chance - self.table.target
        residual *= self.share[:, None, :]
        J, K, n = residual.shape
        gradient = np.empty_like(self.weights)
        gradient[:, :, :-1] = times_rows(residual.reshape(J * K, n), self.table.X, self.used).reshape(J, K, -1)
        gradient[:, :, :-1] += self.penalty[:, None, None] * self.weights[:, :, :-1]
        gradient[:, :, -1] = residual.sum(axis=2)
        if not self.table.centred:
            gradient[:, :, :-1] -= gradient[:, :, -1:] * self.table.mean
        return gradient

    def _precondition(self, vectors: FloatArray) -> FloatArray:
        J, K, d1 = vectors.shape
        curvature = np.einsum("jkn,jn->jk", self.chance * (1 - self.chance), self.share).reshape(J * K, 1)
        np.maximum(curvature, _LEAST_CURVATURE, out=curvature)
        flat = vectors.reshape(J * K, d1)
        solved = np.empty_like(flat)
        penalty = np.repeat(self.penalty, K)[:, None]
        solved[:, :-1] = self.table.spectrum.solve(flat[:, :-1], curvature, penalty)
        solved[:, -1:] = flat[:, -1:] / curvature
        return solved.reshape(J, K, d1)

    def _direction(self) -> FloatArray:
        """The two-loop recursion of L-BFGS."""
        direction = -self.gradient
        parts = []
        for step, change, rho in zip(
            reversed(self.steps), reversed(self.changes), reversed(self.inverse_products), strict=True
        ):
            parts.append(rho * _dot(step, direction))
            direction -= parts[-1][:, None, None] * change
        direction = self._precondition(direction)
        for step, change, rho in zip(self.steps, self.changes, self.inverse_products, strict=True):
            direction += (parts.pop() - rho * _dot(change, direction))[:, None, None] * step
        return direction

    def _search(self, direction: FloatArray, moved: FloatArray, slope: FloatArray) -> FloatArray:
        """How far to go: safeguarded Newton on the slope along the direction until a fifth of it is left, (J,)."""
        bent = self.penalty * _dot(direction[:, :, :-1], direction[:, :, :-1])
        tilt = self.penalty * _dot(self.weights[:, :, :-1], direction[:, :, :-1])
        length, low, high = np.ones_like(slope), np.zeros_like(slope), np.full_like(slope, np.inf)
        seek = np.arange(len(slope))
        for _ in range(_TRIALS):
            every = len(seek) == len(slope)
            scores, along, share = (item if every else item[seek] for item in (self.scores, moved, self.share))
            chance = probabilities(scores + length[seek, None, None] * along)
            pull = np.einsum("jkn,jkn,jn->j", chance - self.table.target, along, share)
            here = pull + tilt[seek] + length[seek] * bent[seek]
            wrong = np.abs(here) > _SLOPE_LEFT * np.abs(slope[seek])
            if not wrong.any():
                break
            seek, here = seek[wrong], here[wrong]
            curve = _curvature_along(chance[wrong], along[wrong], share[wrong]) + bent[seek]
            ahead = here < 0
            low[seek[ahead]], high[seek[~ahead]] = length[seek[ahead]], length[seek[~ahead]]
            length[seek] = _next_length(length[seek], here / curve, low[seek], high[seek])
        return length

    def _remember(self, step: FloatArray, change: FloatArray) -> None:
        product = _dot(step, change)
        usable = product > np.finfo(product.dtype).tiny
        self.steps.append(step)
        self.changes.append(change)
        self.inverse_products.append(np.where(usable, 1 / np.where(usable, product, 1), 0).astype(product.dtype))
        for history in (self.steps, self.changes, self.inverse_products):
            del history[:-MEMORY]


def _used(share: FloatArray) -> IntArray | None:
    """Numbers of the rows that some problem uses; None where nearly all are, as by many problems."""
    if len(share) > _FEW:
        return None
    used = np.flatnonzero(share.any(axis=0))
    return used if len(used) < _NEARLY_ALL * share.shape[1] else None


def _dot(left: FloatArray, right: FloatArray) -> FloatArray:
    product: FloatArray = np.einsum("jkd,jkd->j", left, right)
    return product


def _curvature_along(chance: FloatArray, along: FloatArray, share: FloatArray) -> FloatArray:
    """Second derivative of the mean loss along a direction in the scores, (J,)."""
    if chance.shape[1] == 1:
        spread = (chance * (1 - chance) * along * along)[:, 0]
    else:
        spread = (chance * along * along).sum(axis=1) - (chance * along).sum(axis=1) ** 2
    curvature: FloatArray = np.einsum("jn,jn->j", spread, share)
    return curvature


def _next_length(length: FloatArray, newton: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """A Newton step, kept between the brackets; growth is limited to four times."""
    proposed = np.minimum(length - newton, 4 * length)
    inside = (proposed > low) & (proposed < high)
    halved = np.where(np.isinf(high), 2 * length, 0.5 * (low + np.where(np.isinf(high), low, high)))
    return np.where(inside, proposed, halved).astype(length.dtype)
