"""Paired differences between runs on the same test rows, with bootstrap intervals over rows and training seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftt.arrays import FloatArray
from ftt.errors import FttError
from ftt.result import Result
from ftt.rng import generator

DRAWS = 2000


@dataclass(frozen=True)
class Difference:
    """A difference of worst-group accuracies and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def distinguishable(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0


def paired_difference(first: Sequence[Result], second: Sequence[Result], draws: int = DRAWS) -> Difference:
    """Worst-group accuracy of the first runs minus that of the second, run by run.

    Runs are paired by their training seed and must have been judged on the same test rows. Each draw takes training
    seeds with replacement and, for each, test rows with replacement within every group; both runs of a pair see the
    same draw, so that what is hard for both cancels.

    Parameters
    ----------
    first, second : sequences of Result
        The same number of runs, with the same training seeds in the same order.
    """
    if not first or [r.spec.seed for r in first] != [r.spec.seed for r in second]:
        raise FttError(
            "runs are compared pair by pair",
            given=f"seeds {[r.spec.seed for r in first]} and {[r.spec.seed for r in second]}",
            allowed="the same training seeds in the same order",
        )
    rng = generator(0, "paired", *(result.run.id for result in (*first, *second)))
    drawn = np.stack([_draws(one, other, draws, rng) for one, other in zip(first, second, strict=True)])
    seeds = rng.integers(0, len(first), (draws, len(first)))
    values = drawn[seeds.T, np.arange(draws)].mean(axis=0)
    low, high = np.quantile(values, (0.025, 0.975))
    point = np.mean([a.worst_group_accuracy - b.worst_group_accuracy for a, b in zip(first, second, strict=True)])
    return Difference(float(point), float(low), float(high))


def _draws(one: Result, other: Result, draws: int, rng: np.random.Generator) -> FloatArray:
    """(draws,) differences of two runs on resampled rows."""
    if one.judged != other.judged:
        raise FttError(
            "these runs were judged on different test rows",
            given=f"{one.run.id} and {other.run.id}",
            allowed="runs on one data set with one seed",
        )
    (right, group), (against, _) = one.rows(), other.rows()
    worst = np.full((2, draws), np.inf)
    for value in np.unique(group):
        rows = np.flatnonzero(group == value)
        weights = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=draws) / len(rows)
        worst = np.minimum(worst, np.stack([weights @ right[rows], weights @ against[rows]]))
    difference: FloatArray = worst[0] - worst[1]
    return difference
