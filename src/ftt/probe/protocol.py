"""The probing protocol on arrays, for several seeds at once: draws first, then two rounds of fits, each in one call.

What is drawn depends on the labels and groups only, never on a fit, so the draws of all seeds can be made beforehand
and the fits of all seeds solved together. A seed draws the same rows alone and among others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ftt.arrays import FloatArray, IntArray
from ftt.errors import FttError
from ftt.probe.problems import Fits

Solve = Callable[[list[IntArray], list[float]], Fits]
"""From the rows and the C of every problem to the fits."""


@dataclass(frozen=True)
class Draw:
    """The rows of one seed.

    Attributes
    ----------
    halves : list of (fitted, held out)
        Balanced samples cut in two, to choose C with.
    samples : list of arrays
        Balanced samples, whose fits are averaged.
    """

    halves: list[tuple[IntArray, IntArray]]
    samples: list[IntArray]


@dataclass(frozen=True)
class Outcome:
    """The result of one seed: held-out scores by C, the chosen C, averaged weights, and how its fits converged."""

    held_out: dict[float, float]
    C: float
    coef: FloatArray
    intercept: FloatArray
    converged: bool
    iterations: int


def probe_together(
    X: FloatArray, y: IntArray, groups: IntArray, draws: Sequence[Draw], grid: Sequence[float], solve: Solve
) -> list[Outcome]:
    """Choose C and average, for every draw; all fits of a round are handed to `solve` together.

    Parameters
    ----------
    X : (n, d) array
    y, groups : (n,) arrays
        Codes from 0 on.
    draws : sequence of Draw
        One per seed.
    grid : sequence of float
        Values of C. Every one is fitted on the same halves, so that they are compared on the same data.
    """
    firsts = [first for draw in draws for first, _ in draw.halves for _ in grid]
    choosing = _by_draw(solve(firsts, list(grid) * (len(firsts) // len(grid))), len(draws))
    worst = [held_out_worst(X, y, groups, fits, draw.halves, grid) for fits, draw in zip(choosing, draws, strict=True)]
    chosen = [_best(scores) for scores in worst]
    samples = [rows for draw in draws for rows in draw.samples]
    final = _by_draw(
        solve(samples, [C for C, draw in zip(chosen, draws, strict=True) for _ in draw.samples]), len(draws)
    )
    return [
        Outcome(
            scores,
            C,
            last.coef.mean(axis=0),
            last.intercept.mean(axis=0),
            bool(first.converged.all() and last.converged.all()),
            int(max(first.iterations.max(), last.iterations.max())),
        )
        for scores, C, first, last in zip(worst, chosen, choosing, final, strict=True)
    ]


def draw_rows(
    y: IntArray, groups: IntArray, repeats: int, averages: int, seed: int, classes: npt.ArrayLike | None = None
) -> Draw:
    """Halves, then samples, from one generator; each half that is fitted and each sample holds every class.

    Parameters
    ----------
    y, groups : (n,) arrays
        Codes from 0 on.
    classes : (K,) array, optional
        Names of the codes of y, for messages.
    """
    rng = np.random.default_rng(seed)
    counts = np.bincount(y)

    def draw(share: int) -> IntArray:
        """A balanced sample of which the first part holds every class; drawn again while it does not (tiny data)."""
        for _ in range(100):
            sample = balanced(groups, rng)
            if np.bincount(y[sample[: len(sample) // share]], minlength=len(counts)).all():
                return sample
        names = np.arange(len(counts)) if classes is None else np.asarray(classes)
        raise FttError(
            f"no {'balanced sample' if share == 1 else 'half of a balanced sample'} contains every class",
            given=f"{counts.min()} rows of class {str(names[counts.argmin()])!r}, {len(y)} rows in all",
            allowed="several rows of every class for every attribute value",
            hint="provide more probing data, or merge rare classes",
        )

    samples = [draw(2) for _ in range(repeats)]
    halves = [(sample[: len(sample) // 2], sample[len(sample) // 2 :]) for sample in samples]
    return Draw(halves, [draw(1) for _ in range(averages)])


def balanced(groups: IntArray, rng: np.random.Generator) -> IntArray:
    """Rows of a sample with as many rows of every group as the smallest group has, shuffled."""
    smallest = np.bincount(groups).min()
    picked = [
        rng.choice(np.flatnonzero(groups == group), size=smallest, replace=False) for group in range(groups.max() + 1)
    ]
    return rng.permutation(np.concatenate(picked))


def held_out_worst(
    X: FloatArray,
    y: IntArray,
    groups: IntArray,
    fits: Fits,
    halves: list[tuple[IntArray, IntArray]],
    grid: Sequence[float],
) -> dict[float, float]:
    """Mean worst-group accuracy on the halves that the fits did not see, by C."""
    right = _right(X, y, fits)
    worst = np.empty((len(halves), len(grid)))
    for repeat, (_, held_out) in enumerate(halves):
        own = right[held_out, repeat * len(grid) : (repeat + 1) * len(grid)]
        judged = groups[held_out]
        worst[repeat] = np.min([own[judged == group].mean(axis=0) for group in np.unique(judged)], axis=0)
    return dict(zip(grid, worst.mean(axis=0).tolist(), strict=True))


def _right(X: FloatArray, y: IntArray, fits: Fits) -> npt.NDArray[np.bool_]:
    """Which rows each fit gets right, (n, J), in the precision of the features."""
    J, K, d = fits.coef.shape
    scores = X @ np.ascontiguousarray(fits.coef.reshape(J * K, d).T, dtype=X.dtype)
    scores += fits.intercept.reshape(J * K).astype(X.dtype)
    predicted = scores > 0 if K == 1 else scores.reshape(-1, J, K).argmax(axis=2)
    right: npt.NDArray[np.bool_] = predicted == y[:, None]
    return right


def _best(held_out: dict[float, float]) -> float:
    """The C of the best score; ties keep the larger."""
    best = max(held_out.values())
    return max(C for C, score in held_out.items() if score == best)


def _by_draw(fits: Fits, count: int) -> list[Fits]:
    each = len(fits.coef) // count
    return [fits[number * each : (number + 1) * each] for number in range(count)]
