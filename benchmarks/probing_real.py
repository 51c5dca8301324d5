"""The probing protocol on real features from the store, against scikit-learn in the ways people call it.

python -m benchmarks.harness probing_real

Trained features are the harder case: a loop over scikit-learn needs few iterations there. LogisticRegressionCV starts
each C from the one before, as we do; its C is the mean of the best by accuracy on each half, since its scorers know no
groups, so that its predictions may differ from ours. scikit-learn-intelex
is measured where it is installed.
"""

from __future__ import annotations

import importlib.util
import statistics
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

from benchmarks.features import Features, Labels
from benchmarks.probing import AVERAGES, REPEATS, TOL, Weights, timed
from benchmarks.stored import probing_set
from ftt.probe import DFRProbe, fit_together
from ftt.probe.dfr import WIDE_GRID
from ftt.probe.problems import check_problems, mean_gradient
from ftt.probe.protocol import Draw, draw_rows

SETS = (("dominoes", "trained"), ("dominoes", "initial"), ("pacs", "trained"), ("pacs", "initial"))
BOUNDS = {("trained", "one"): (None, 8.0), ("trained", "ten"): (None, 15.0)}
SEEDS = 10


@dataclass(frozen=True)
class Found:
    """What one run of the protocol found: C, and the weights of every sample, the intercept last."""

    C: float
    samples: list[Weights]

    @property
    def weights(self) -> Weights:
        """The averaged weights, (K', d + 1)."""
        mean: Weights = np.mean(self.samples, axis=0)
        return mean


@dataclass(frozen=True)
class Task:
    """A probing set and the rows that one seed draws."""

    X: Features
    y: Labels
    a: Labels
    draw: Draw

    def loop(self, estimator: Callable[..., Any], max_iter: int) -> Found:
        """Fit by fit."""
        fitted = partial(self._fitted, estimator, max_iter)
        scores = {
            C: np.mean([self._worst(fitted(rows, C), rest) for rows, rest in self.draw.halves]) for C in WIDE_GRID
        }
        # The grid falls, so ties keep the larger.
        return self._averaged(fitted, max(scores, key=lambda value: scores[value]))

    def path(self) -> Found:
        """Halves by LogisticRegressionCV, then the averaged fits."""
        search = LogisticRegressionCV(
            Cs=sorted(WIDE_GRID),
            cv=self.draw.halves,
            scoring="accuracy",
            tol=TOL,
            max_iter=10_000,
            refit=False,
            l1_ratios=(0,),
            use_legacy_attributes=False,
        ).fit(self.X, self.y)
        return self._averaged(partial(self._fitted, LogisticRegression, 10_000), float(np.ravel(search.C_)[0]))

    def _fitted(self, estimator: Callable[..., Any], max_iter: int, rows: Labels, C: float) -> Any:
        return estimator(C=C, tol=TOL, max_iter=max_iter).fit(self.X[rows], self.y[rows])

    def _worst(self, model: Any, rows: Labels) -> float:
        right = model.predict(self.X[rows]) == self.y[rows]
        return float(min(right[self.a[rows] == value].mean() for value in np.unique(self.a[rows])))

    def _averaged(self, fitted: Callable[..., Any], C: float) -> Found:
        models = [fitted(rows, C) for rows in self.draw.samples]
        return Found(C, [np.column_stack([model.coef_, model.intercept_]) for model in models])

    def gradient(self, found: Found) -> float:
        """The largest gradient of the averaged fits."""
        C = [found.C] * len(found.samples)
        problems = check_problems(self.X, self.y, self.draw.samples, C, int(self.y.max()) + 1)
        return max(mean_gradient(problems, j, one[:, :-1], one[:, -1]) for j, one in enumerate(found.samples))


def predicted(X: Features, weights: Weights) -> Labels:
    """Classes by averaged weights."""
    scores = X @ weights[:, :-1].T + weights[:, -1]
    return (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)


def quality(task: Task, probes: Sequence[DFRProbe], found: Found) -> str:
    """Whether all converged, and whether the first probe comes to the choice and the predictions of the baseline."""
    own = "every gradient ≤ 1e-4" if all(probe.converged_ for probe in probes) else "NOT ALL CONVERGED"
    rows = {np.sort(sample).tobytes() for sample in task.draw.samples}
    once = "; all samples are the same rows, which we fit once" if len(rows) == 1 else ""
    same = float((probes[0].predict(task.X) == predicted(task.X, found.weights)).mean())
    return (
        f"{own}, theirs {task.gradient(found):.1e}; C = {probes[0].C_:g}, theirs {found.C:g};"
        f" {100 * same:.2f} % of predictions equal{once}"
    )


def baselines(task: Task) -> dict[str, Callable[[], Found]]:
    """Ways to run the protocol with scikit-learn."""
    ways: dict[str, Callable[[], Found]] = {
        "a converged loop over sklearn LogisticRegression": partial(task.loop, LogisticRegression, 10_000),
        "the loop at sklearn's default of 100 iterations": partial(task.loop, LogisticRegression, 100),
        "sklearn LogisticRegressionCV, converged, then the averaged fits": task.path,
    }
    if importlib.util.find_spec("sklearnex"):
        from sklearnex.linear_model import LogisticRegression as Intel  # type: ignore[import-not-found]

        ways["the converged loop with scikit-learn-intelex"] = partial(task.loop, Intel, 10_000)
    return ways


def compare(dataset: str, kind: str) -> list[dict[str, object]]:
    """Two rows per baseline: one probe, and ten seeds in one call."""
    X, y, a = probing_set(dataset, kind)
    # A held-out domain is one attribute value of several; groups are coded without gaps, as the probe codes them.
    a = np.unique(a, return_inverse=True)[1]
    task = Task(X, y, a, draw_rows(y, a, REPEATS, AVERAGES, 0))
    DFRProbe().fit(X, y, a)
    # In turns, so that a busy machine slows all alike.
    ways = baselines(task)
    slow: dict[str, list[tuple[float, Found]]] = {name: [] for name in ways}
    single, batch = [], []
    for turn in range(3):
        single += [timed(lambda: DFRProbe().fit(X, y, a)) for _ in range(3)]
        batch.append(timed(lambda: fit_together([DFRProbe(random_state=seed) for seed in range(SEEDS)], X, y, a)))
        for name, way in ways.items():
            if turn == 0 or dataset == "dominoes":
                slow[name].append(timed(way))
    one = statistics.median(seconds for seconds, _ in single)
    ten = statistics.median(seconds for seconds, _ in batch) / SEEDS
    rows: list[dict[str, object]] = []
    for name, runs in slow.items():
        theirs = statistics.median(seconds for seconds, _ in runs)
        for label, ours, probes in (("one", one, [single[0][1]]), ("ten", ten, batch[0][1])):
            title = "DFRProbe.fit" if label == "one" else f"{SEEDS} seeds by fit_together"
            converged = name.startswith("a converged")
            floor, target = BOUNDS.get((kind, label), (None, None)) if converged else (None, None)
            rows.append(
                {
                    "stage": f"probing, {dataset} {kind}, val {len(X)}×{X.shape[1]}, K = {y.max() + 1}: {title}",
                    "baseline": f"{name}, {theirs:.2f} s a run (ours {ours:.3f} s)",
                    "ratio": theirs / ours,
                    "floor": floor,
                    "target": target,
                    "quality": quality(task, probes, runs[0][1]),
                }
            )
    return rows


def rows(quick: bool) -> list[dict[str, object]]:
    """Dominoes and PACS, trained and initial; only trained Dominoes when quick."""
    with warnings.catch_warnings():
        # The default number of iterations is measured as it is.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [row for dataset, kind in (SETS[:1] if quick else SETS) for row in compare(dataset, kind)]
