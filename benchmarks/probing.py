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
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.features import CELEBA_VAL, FLAT, LIKE_A_BACKBONE, WATERBIRDS_VAL, Features, Labels, grouped
from ftt.probe import DFRProbe, fit_together
from ftt.probe.dfr import PAPER_GRID
from ftt.probe.logistic import fit_many
from ftt.probe.problems import check_problems, mean_gradient
from ftt.probe.protocol import Draw, draw_rows

T = TypeVar("T")
Rows = NDArray[np.int64]
Weights = NDArray[np.float64]

TOL = 1e-4
REPEATS, AVERAGES = 3, 10


@dataclass(frozen=True)
class Outcome:
    """What one run of the protocol found: C, the averaged weights (the intercept last), the gradient of one fit."""

    C: float
    weights: Weights
    gradient: float


def worst(right: NDArray[np.bool_], a: Labels) -> float:
    return float(min(right[a == v].mean() for v in (0, 1)))


def loop(X: Features, y: Labels, a: Labels, plan: Draw) -> Outcome:
    """One run of the protocol, fit by fit, each to convergence."""

    def fitted(rows: Rows, C: float) -> LogisticRegression:
        return LogisticRegression(C=C, tol=TOL, max_iter=10_000).fit(X[rows], y[rows])

    scores = {
        C: np.mean([worst(fitted(fit, C).predict(X[rest]) == y[rest], a[rest]) for fit, rest in plan.halves])
        for C in PAPER_GRID
    }
    # The grid falls, so ties keep the larger.
    C = max(scores, key=lambda value: scores[value])
    models = [fitted(rows, C) for rows in plan.samples]
    weights = np.stack([np.append(m.coef_[0], m.intercept_[0]) for m in models]).astype(np.float64)
    problems = check_problems(X, y, plan.samples[:1], [C], 2)
    return Outcome(C, weights.mean(axis=0), mean_gradient(problems, 0, weights[:1, :-1], weights[0, -1:]))


def fresh(seeds: int) -> list[DFRProbe]:
    return [
        DFRProbe(grid=PAPER_GRID, repeats=REPEATS, averages=AVERAGES, tol=TOL, random_state=s) for s in range(seeds)
    ]


def quality(X: Features, y: Labels, plans: Sequence[Draw], ours: Sequence[DFRProbe], theirs: Sequence[Outcome]) -> str:
    """Gradients, distances from the optimum, and whether both arms come to the same choice and predictions."""
    within = "every gradient ≤ 1e-4" if all(probe.converged_ for probe in ours) else "NOT ALL CONVERGED"
    same = [(plan, o, t) for plan, o, t in zip(plans, ours, theirs, strict=False) if o.C_ == t.C]
    text = f"{within} (sklearn {max(t.gradient for t in theirs):.1e}), same C in {len(same)} of {len(theirs)}"
    if not same:
        return text
    away: list[tuple[float, float]] = []
    equal = []
    for plan, o, t in same:
        best = fit_many(X, y, plan.samples, [t.C] * AVERAGES, n_classes=2, tol=1e-8, max_iter=10_000)
        if not best.converged.all():
            raise RuntimeError("the optimum to compare with was not reached")
        optimum = best.coef[:, 0].mean(axis=0)
        gaps = [np.linalg.norm(w - optimum) / np.linalg.norm(optimum) for w in (o.coef_[0], t.weights[:-1])]
        away.append((float(gaps[0]), float(gaps[1])))
        equal.append(float((o.predict(X) == (X @ t.weights[:-1] + t.weights[-1] > 0)).mean()))
    own, other = (100 * max(column) for column in zip(*away, strict=True))
    return (
        f"{text}, weights within {own:.1g} % of the optimum (sklearn {other:.1g} %),"
        f" {100 * float(np.mean(equal)):.2f} % of predictions equal"
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
    """Two rows: all seeds in one call, and seed by seed; the loop is timed on the first `loops` seeds."""
    X, y, a = grouped(counts, d, power=power)
    plans = [draw_rows(y, a, REPEATS, AVERAGES, seed) for seed in range(seeds)]
    fit_together(fresh(1), X, y, a)
    slow = [timed(partial(loop, X, y, a, plan)) for plan in plans[:loops]]
    fast = [timed(partial(fit_together, fresh(seeds), X, y, a)) for _ in range(3)]
    single = [timed(partial(probe.fit, X, y, a)) for probe in fresh(5)]
    per_loop = statistics.median(seconds for seconds, _ in slow)
    per_batch = statistics.median(seconds for seconds, _ in fast) / seeds
    per_probe = statistics.median(seconds for seconds, _ in single)
    alone, among = [probe for _, probe in single], fast[0][1]
    theirs = [outcome for _, outcome in slow]
    agree = sum(one.C_ == other.C_ for one, other in zip(alone, among, strict=False))
    fits = seeds * (len(PAPER_GRID) * REPEATS + AVERAGES)
    part = "" if loops == seeds else f", timed on {loops} of {seeds} runs"
    baseline = f"the same protocol as a loop over sklearn LogisticRegression, {per_loop:.2f} s a run{part}"
    shape = f"{name}, val {len(X)}×{d}"
    return [
        {
            "stage": f"probing, {shape}: {seeds} probe seeds by fit_together = {fits} fits",
            "baseline": f"{baseline} (ours {per_batch:.3f} s)",
            "ratio": per_loop / per_batch,
            "floor": floor,
            "target": target,
            "quality": quality(X, y, plans, among, theirs),
        },
        {
            "stage": f"probing, {shape}: DFRProbe.fit, one run at a time",
            "baseline": f"{baseline} (ours {per_probe:.3f} s)",
            "ratio": per_loop / per_probe,
            "floor": None,
            "target": None,
            "quality": f"{quality(X, y, plans, alone, theirs[: len(alone)])}; the C of fit_together in"
            f" {agree} of {min(len(alone), seeds)}",
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
