"""The probing protocol, all fits together, against the loop over scikit-learn a careful user would write.

python -m benchmarks.harness probing [--quick]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.features import CELEBA_VAL, FLAT, LIKE_A_BACKBONE, WATERBIRDS_VAL, Features, Labels, grouped
from ftt.probe.dfr import PAPER_GRID, DFRProbe
from ftt.probe.logistic import fit_many
from ftt.probe.problems import check_problems, mean_gradient

T = TypeVar("T")
Rows = NDArray[np.intp]
Weights = NDArray[np.float64]

TOL = 1e-4
REPEATS, AVERAGES = 3, 10


@dataclass(frozen=True)
class Draw:
    """The rows of one run of the protocol: halves to choose C with, balanced samples for the final fits."""

    halves: list[tuple[float, Rows, Rows]]
    samples: list[Rows]


@dataclass(frozen=True)
class Outcome:
    """What one run of the protocol found: C, the weights of the first final fit, the average, the largest gradient.

    The intercept is the last weight.
    """

    C: float
    first: Weights
    average: Weights
    gradient: float


def draw(a: Labels, seed: int) -> Draw:
    """The paper's protocol: for each C three balanced samples cut in halves, then ten balanced samples."""
    rng = np.random.default_rng(seed)
    smallest = int(np.bincount(a).min())

    def balanced() -> Rows:
        return rng.permutation(
            np.concatenate([rng.choice(np.flatnonzero(a == v), smallest, replace=False) for v in (0, 1)])
        )

    halves = []
    for C in PAPER_GRID:
        for _ in range(REPEATS):
            sample = balanced()
            halves.append((C, sample[:smallest], sample[smallest:]))
    return Draw(halves, [balanced() for _ in range(AVERAGES)])


def choose(scores: ArrayLike) -> float:
    """The C of the best mean; ties keep the larger, and the grid falls."""
    means = np.asarray(scores).reshape((len(PAPER_GRID), REPEATS)).mean(axis=1)
    return PAPER_GRID[int(means.argmax())]


def worst(right: NDArray[np.bool_], a: Labels) -> float:
    return float(min(right[a == v].mean() for v in (0, 1)))


def loop(X: Features, y: Labels, a: Labels, plan: Draw) -> Outcome:
    """One run of the protocol, fit by fit, each to convergence."""

    def fitted(rows: Rows, C: float) -> LogisticRegression:
        return LogisticRegression(C=C, tol=TOL, max_iter=10_000).fit(X[rows], y[rows])

    scores = []
    for C, first, second in plan.halves:
        scores.append(worst(fitted(first, C).predict(X[second]) == y[second], a[second]))
    C = choose(scores)
    models = [fitted(rows, C) for rows in plan.samples]
    weights = np.stack([np.append(m.coef_[0], m.intercept_[0]) for m in models])
    problems = check_problems(X, y, plan.samples[:1], [C], 2)
    gradient = mean_gradient(problems, 0, weights[:1, :-1].astype(np.float64), weights[0, -1:].astype(np.float64))
    return Outcome(C, weights[0], weights.mean(axis=0), gradient)


def together(X: Features, y: Labels, a: Labels, plans: Sequence[Draw]) -> list[Outcome]:
    """Several runs of the protocol, all their fits in two calls."""
    halves = [half for plan in plans for half in plan.halves]
    fits = fit_many(X, y, [first for _, first, _ in halves], [C for C, _, _ in halves], n_classes=2, tol=TOL)
    right = ((X @ fits.coef[:, 0].T.astype(X.dtype) + fits.intercept[:, 0] > 0) == y[:, None]).T
    scores = [worst(hit[second], a[second]) for hit, (_, _, second) in zip(right, halves, strict=True)]
    chosen = [choose(part) for part in np.reshape(scores, (len(plans), -1))]
    samples = [rows for plan in plans for rows in plan.samples]
    final = fit_many(X, y, samples, np.repeat(chosen, AVERAGES), n_classes=2, tol=TOL)
    weights = np.concatenate([final.coef[:, 0], final.intercept], axis=1)
    by_run = weights.reshape(len(plans), AVERAGES, -1)
    gradient = float(max(fits.gradient.max(), final.gradient.max()))
    return [Outcome(C, run[0], run.mean(axis=0), gradient) for C, run in zip(chosen, by_run, strict=True)]


def quality(X: Features, y: Labels, plans: Sequence[Draw], ours: list[Outcome], theirs: list[Outcome]) -> str:
    """Gradients, distances from the optimum, and whether both arms come to the same choice and predictions."""
    same = [(plan, o, t) for plan, o, t in zip(plans, ours, theirs, strict=True) if o.C == t.C]
    text = f"gradient ≤ {ours[0].gradient:.1e} (sklearn {max(t.gradient for t in theirs):.1e})"
    text += f", same C in {len(same)} of {len(ours)}"
    if not same:
        return text
    optimum = fit_many(
        X, y, [plan.samples[0] for plan, _, _ in same], [o.C for _, o, _ in same], tol=1e-8, max_iter=10_000
    )
    if not optimum.converged.all():
        raise RuntimeError("the optimum to compare with was not reached")
    away = []
    for fits in ([o.first for _, o, _ in same], [t.first for _, _, t in same]):
        gaps = np.linalg.norm(np.stack(fits)[:, :-1] - optimum.coef[:, 0], axis=1)
        away.append(100 * float((gaps / np.linalg.norm(optimum.coef[:, 0], axis=1)).max()))
    o, t = (
        (X @ np.stack(w)[:, :-1].T + np.stack(w)[:, -1] > 0)
        for w in zip(*((o.average, t.average) for _, o, t in same), strict=True)
    )
    return (
        f"{text}, weights within {away[0]:.1f} % of the optimum (sklearn {away[1]:.1f} %),"
        f" {100 * float((o == t).mean()):.2f} % of predictions equal"
    )


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds, and the result."""
    before = time.process_time()
    result = work()
    return time.process_time() - before, result


def compare(
    name: str,
    counts: tuple[int, int, int, int],
    d: int,
    *,
    seeds: int,
    loops: int,
    floor: float,
    target: float,
    power: float = LIKE_A_BACKBONE,
) -> list[dict[str, object]]:
    """Two rows: all seeds in one call, and `DFRProbe` seed by seed; the loop is timed on the first `loops` seeds."""
    X, y, a = grouped(counts, d, power=power)
    plans = [draw(a, seed) for seed in range(seeds)]
    together(X, y, a, plans[:1])
    slow = [timed(partial(loop, X, y, a, plan)) for plan in plans[:loops]]
    fast = [timed(partial(together, X, y, a, plans)) for _ in range(3)]
    probes = [DFRProbe(grid=PAPER_GRID, tol=TOL, random_state=seed) for seed in range(3)]
    single = [timed(partial(probe.fit, X, y, a)) for probe in probes]
    per_loop = statistics.median(seconds for seconds, _ in slow)
    per_batch = statistics.median(seconds for seconds, _ in fast) / seeds
    per_probe = statistics.median(seconds for seconds, _ in single)
    ours, theirs = fast[0][1][:loops], [outcome for _, outcome in slow]
    fits = seeds * (len(PAPER_GRID) * REPEATS + AVERAGES)
    part = "" if loops == seeds else f", timed on {loops} of {seeds} runs"
    baseline = f"sklearn loop, {per_loop:.2f} s a run{part}"
    shape = f"{name}, val {len(X)}×{d}"
    return [
        {
            "stage": f"probing, {shape}: {seeds} runs in one call = {fits} fits",
            "baseline": f"{baseline} (ours {per_batch:.3f} s)",
            "ratio": per_loop / per_batch,
            "floor": floor,
            "target": target,
            "quality": quality(X, y, plans[:loops], ours, theirs),
        },
        {
            "stage": f"probing, {shape}: DFRProbe, one run at a time",
            "baseline": f"{baseline} (ours {per_probe:.3f} s)",
            "ratio": per_loop / per_probe,
            "floor": None,
            "target": None,
            "quality": f"all fits converged: {all(probe.converged_ for probe in probes)}",
        },
    ]


def rows(quick: bool) -> list[dict[str, object]]:
    """Waterbirds and CelebA shapes; scaled down in features and rows when quick."""
    if quick:
        small = (233, 233, 66, 66)
        return compare("Waterbirds halved", small, 1024, seeds=5, loops=3, floor=15.0, target=25.0)
    return [
        *compare("Waterbirds", WATERBIRDS_VAL, 2048, seeds=10, loops=10, floor=15.0, target=25.0),
        *compare(
            "Waterbirds, flat spectrum", WATERBIRDS_VAL, 2048, seeds=10, loops=3, floor=15.0, target=25.0, power=FLAT
        ),
        *compare("CelebA", CELEBA_VAL, 2048, seeds=10, loops=3, floor=10.0, target=15.0),
    ]
