"""Paired differences between runs on the same test rows, with bootstrap intervals over rows and training seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftt.arrays import FloatArray, IntArray
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


@dataclass(frozen=True)
class Judgement:
    """What a run did on the test rows.

    Attributes
    ----------
    run_id : str
        The run.
    seed : int
        Its training seed.
    worst : float
        Its worst-group accuracy.
    label, group : (n,) int arrays
        Labels and attribute codes of the rows.
    right : (n,) float array
        Share of probe seeds that got each row right.
    """

    run_id: str
    seed: int
    worst: float
    label: IntArray
    group: IntArray
    right: FloatArray


Runs = Sequence[Judgement]


def judgement(result: Result) -> Judgement:
    """The judgement of a result."""
    right, group = result.rows()
    return Judgement(result.run.id, result.spec.seed, result.worst_group_accuracy, result.labels, group, right)


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
    return mean_difference([(list(map(judgement, first)), list(map(judgement, second)))], draws)


def mean_difference(settings: Sequence[tuple[Runs, Runs]], draws: int = DRAWS) -> Difference:
    """The paired differences of several settings, averaged over the settings.

    The settings are given, not a sample: seeds and rows are drawn anew in each of them and independently of the others.

    Parameters
    ----------
    settings : sequence of (first runs, second runs)
        What `paired_difference` takes, as judgements.
    """
    drawn = []
    for first, second in settings:
        _check(first, second)
        rng = generator(0, "paired", *(run.run_id for run in (*first, *second)))
        each = np.stack([_draws(one, other, draws, rng) for one, other in zip(first, second, strict=True)])
        seeds = rng.integers(0, len(first), (draws, len(first)))
        drawn.append(each[seeds.T, np.arange(draws)].mean(axis=0))
    points = [np.mean([a.worst - b.worst for a, b in zip(*pair, strict=True)]) for pair in settings]
    low, high = np.quantile(np.mean(drawn, axis=0), (0.025, 0.975))
    return Difference(float(np.mean(points)), float(low), float(high))


def _check(first: Runs, second: Runs) -> None:
    if not first or [run.seed for run in first] != [run.seed for run in second]:
        raise FttError(
            "runs are compared pair by pair",
            given=f"seeds {[run.seed for run in first]} and {[run.seed for run in second]}",
            allowed="the same training seeds in the same order",
        )


def _draws(one: Judgement, other: Judgement, draws: int, rng: np.random.Generator) -> FloatArray:
    """(draws,) differences of two runs on resampled rows."""
    if not (np.array_equal(one.label, other.label) and np.array_equal(one.group, other.group)):
        raise FttError(
            "these runs were judged on different test rows",
            given=f"{one.run_id} and {other.run_id}",
            allowed="runs on one data set with one seed",
        )
    worst = np.full((2, draws), np.inf)
    for value in np.unique(one.group):
        rows = np.flatnonzero(one.group == value)
        # Rows that both runs got right equally often are alike: it is enough to draw how many of each kind there are.
        kinds, counts = np.unique(np.stack([one.right[rows], other.right[rows]]), axis=1, return_counts=True)
        drawn = rng.multinomial(len(rows), counts / len(rows), size=draws) / len(rows)
        worst = np.minimum(worst, kinds @ drawn.T)
    difference: FloatArray = worst[0] - worst[1]
    return difference
