"""The probing protocol on arrays, for several seeds at once: draws first, then rounds of fits, each in one call.

What is drawn depends on the labels and groups only, never on a fit, so the draws of all seeds can be made beforehand
and the fits of all seeds solved together. A seed draws the same rows alone and among others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ftt.arrays import FloatArray, IntArray
from ftt.errors import FttError
from ftt.probe.blocks import Ratios, variants
from ftt.probe.judging import Judged, judge
from ftt.probe.problems import Fits
from ftt.probe.products import product

Solve = Callable[[list[IntArray], list[float], FloatArray | None], Fits]
"""From the rows and the C of every problem, and the weights to start from, to the fits."""

Prepare = Callable[[Ratios], tuple[FloatArray, Solve]]
"""From the ratios of the blocks to the features scaled by them, and the solver on these."""


@dataclass(frozen=True)
class Draw:
    """The rows of one seed.

    Attributes
    ----------
    halves : list of (fitted, held out)
        Balanced samples cut in two, to choose ratios and C with.
    samples : list of arrays
        Balanced samples, whose fits are averaged.
    """

    halves: list[tuple[IntArray, IntArray]]
    samples: list[IntArray]


@dataclass(frozen=True)
class Choice:
    """What there is to choose from: values of C, of the ratio of each of several blocks, and by which criterion."""

    grid: Sequence[float]
    blocks: int = 1
    values: Sequence[float] = (1.0,)
    criterion: str = "worst-group"


@dataclass(frozen=True)
class Outcome:
    """The result of one seed: what was judged, the choice, averaged weights, and how its fits converged."""

    judged: dict[Ratios, Judged]
    ratios: Ratios
    C: float
    coef: FloatArray
    intercept: FloatArray
    converged: bool
    iterations: int


def probe_together(
    y: IntArray, groups: IntArray, draws: Sequence[Draw], choice: Choice, prepare: Prepare
) -> list[Outcome]:
    """Choose ratios and C, then average, for every draw; fits that share their ratios are solved together.

    Parameters
    ----------
    y, groups : (n,) arrays
        Codes from 0 on.
    draws : sequence of Draw
        One per seed.
    choice : Choice
        Every value is fitted on the same halves, so that they are compared on the same data.
    """
    judged: list[dict[Ratios, Judged]] = [{} for _ in draws]
    fitted: list[dict[Ratios, Fits]] = [{} for _ in draws]
    # One block has no ratio to another.
    steps = (None, *range(choice.blocks)) if choice.blocks > 1 else (None,)
    for block in steps:
        for ratios, seeds in _proposed(judged, choice, block).items():
            X, solve = prepare(ratios)
            firsts = [first for seed in seeds for first, _ in draws[seed].halves for _ in choice.grid]
            fits = solve(firsts, list(choice.grid) * (len(firsts) // len(choice.grid)), None)
            for seed, own in zip(seeds, _by_draw(fits, len(seeds)), strict=True):
                judged[seed][ratios] = judge(
                    _scores(X, own), y, groups, draws[seed].halves, choice.grid, choice.criterion
                )
                fitted[seed][ratios] = own
    chosen = [_best(found) for found in judged]
    last: dict[int, Fits] = {}
    for ratios in dict.fromkeys(ratios for ratios, _ in chosen):
        seeds = [seed for seed, pair in enumerate(chosen) if pair[0] == ratios]
        _, solve = prepare(ratios)
        # Nothing is held out from these fits, so they may start from any.
        starts = {seed: _mean_at(chosen[seed][1], fitted[seed][ratios], choice.grid) for seed in seeds}
        fits = solve(
            [rows for seed in seeds for rows in draws[seed].samples],
            [chosen[seed][1] for seed in seeds for _ in draws[seed].samples],
            np.stack([starts[seed] for seed in seeds for _ in draws[seed].samples]),
        )
        last.update(zip(seeds, _by_draw(fits, len(seeds)), strict=True))
    return [_outcome(judged[seed], chosen[seed], [*fitted[seed].values(), last[seed]]) for seed in range(len(draws))]


def _proposed(judged: Sequence[dict[Ratios, Judged]], choice: Choice, block: int | None) -> dict[Ratios, list[int]]:
    """The ratios to be judged next, and the seeds for which they are: equal ones at first, then those of one block."""
    wanted: dict[Ratios, list[int]] = {}
    for seed, found in enumerate(judged):
        equal: Iterable[Ratios] = [(1.0,) * choice.blocks]
        for ratios in dict.fromkeys(equal if block is None else variants(_best(found)[0], block, choice.values)):
            if ratios not in found:
                wanted.setdefault(ratios, []).append(seed)
    return wanted


def _best(judged: dict[Ratios, Judged]) -> tuple[Ratios, float]:
    """The ratios and the C of the best score; ties keep the ratios judged first and then the larger C."""
    ratios = max(judged, key=lambda key: max(judged[key].score.values()))
    score = judged[ratios].score
    return ratios, max(C for C in score if score[C] == max(score.values()))


def _outcome(judged: dict[Ratios, Judged], chosen: tuple[Ratios, float], fits: list[Fits]) -> Outcome:
    """The choice with the weights of the last fits averaged."""
    return Outcome(
        judged,
        *chosen,
        fits[-1].coef.mean(axis=0),
        fits[-1].intercept.mean(axis=0),
        all(bool(some.converged.all()) for some in fits),
        max(int(some.iterations.max()) for some in fits),
    )


def _mean_at(C: float, fits: Fits, grid: Sequence[float]) -> FloatArray:
    """The mean weights of the fits of all halves at one value of C, the intercept last."""
    own = fits[grid.index(C) :: len(grid)]
    mean: FloatArray = np.concatenate([own.coef, own.intercept[:, :, None]], axis=2).mean(axis=0)
    return mean


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


def _scores(X: FloatArray, fits: Fits) -> FloatArray:
    """Scores of every row by each fit, (n, J, K'), in the precision of the features or in single precision."""
    if fits.scores is not None:
        return np.ascontiguousarray(np.moveaxis(fits.scores, 2, 0))
    J, K, d = fits.coef.shape
    scores = product(X, fits.coef.reshape(J * K, d).astype(X.dtype).T)
    scores += fits.intercept.reshape(J * K).astype(X.dtype)
    return scores.reshape(-1, J, K)


def _by_draw(fits: Fits, count: int) -> list[Fits]:
    each = len(fits.coef) // count
    return [fits[number * each : (number + 1) * each] for number in range(count)]
