"""Out-of-fold scores: what a linear probe says about rows that it was not fitted on.

Noise is only visible in such scores. A probe of a thousand features fits most of a few thousand labels, wrong ones
included, so that its scores on the rows it was fitted on say that nothing is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from ftt.arrays import FloatArray, IntArray
from ftt.errors import FttError
from ftt.metrics import Rate
from ftt.probe.logistic import fit_many

FOLDS = 10
GRID = (1.0, 0.1, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
"""Values of C, for features of unit mean variance."""

_TRIED = 3
"""Folds on which C is chosen; the scores are then those of all folds."""

_TOL = 1e-3


@dataclass(frozen=True)
class Scores:
    """Out-of-fold scores of one labelling.

    Attributes
    ----------
    logits : (n, K) array
        Of every row, from a probe that was fitted without its fold; the first column is 0 for two classes.
    codes : (n,) array
        What was to be predicted.
    C : float
        The chosen penalty.
    """

    logits: FloatArray
    codes: IntArray
    C: float

    @property
    def accuracy(self) -> Rate:
        """Rows whose label has the largest score."""
        return Rate(int((self.logits.argmax(axis=1) == self.codes).sum()), len(self.codes))

    @property
    def chance(self) -> float:
        """Share of the most frequent label."""
        return float(np.bincount(self.codes).max() / len(self.codes))

    @property
    def informative(self) -> bool:
        """Whether the scores are better than always naming the most frequent label, beyond chance."""
        return self.accuracy.interval()[0] > self.chance


def out_of_fold(
    phi: FloatArray, codes: IntArray, strata: IntArray, *, n_classes: int | None = None, seed: int = 0
) -> Scores:
    """Scores of logistic regressions, each on the rows of one fold after fitting on the others.

    Parameters
    ----------
    phi : (n, d) array
        Features.
    codes : (n,) int array
        What is predicted, coded from 0 on; every class needs as many rows as there are folds.
    strata : (n,) int array
        Folds hold equal shares of each of these.
    """
    K = int(codes.max()) + 1 if n_classes is None else n_classes
    smallest = int(np.bincount(codes, minlength=K).min())
    if smallest < FOLDS:
        raise FttError(
            "a class has too few rows for out-of-fold predictions",
            given=f"{smallest} rows",
            allowed=f"at least {FOLDS} rows of every class",
        )
    spread = float(np.sqrt(phi.var(axis=0, dtype=np.float64).mean()))
    X = (phi / (spread or 1.0)).astype(np.float32)
    fold = deal(strata * K + codes, FOLDS, np.random.default_rng(seed))
    fitted = [np.flatnonzero(fold != k) for k in range(FOLDS)]
    held = [np.flatnonzero(fold == k) for k in range(FOLDS)]

    def logits(penalties: list[float], count: int) -> list[list[FloatArray]]:
        """Of every penalty, the logits of the first `count` folds."""
        rows = [fitted[k] for _ in penalties for k in range(count)]
        fits = fit_many(X, codes, rows, [C for C in penalties for _ in range(count)], n_classes=K, tol=_TOL)
        made = [X[held[j % count]] @ fits.coef[j].T + fits.intercept[j] for j in range(len(rows))]
        full = [np.concatenate([np.zeros_like(z), z], axis=1) if z.shape[1] == 1 else z for z in made]
        return [full[i * count : (i + 1) * count] for i in range(len(penalties))]

    def loss(parts: list[FloatArray]) -> float:
        z, y = np.concatenate(parts), codes[np.concatenate(held[: len(parts)])]
        return float(np.mean(logsumexp(z, axis=1) - z[np.arange(len(y)), y]))

    C = min(zip(GRID, logits(list(GRID), _TRIED), strict=True), key=lambda item: loss(item[1]))[0]
    scores = np.empty((len(codes), K))
    for rows, part in zip(held, logits([C], FOLDS)[0], strict=True):
        scores[rows] = part
    return Scores(scores, codes, C)


def deal(strata: IntArray, folds: int, rng: np.random.Generator) -> IntArray:
    """(n,) fold of every row; each fold gets its share of every stratum, up to one row."""
    order = rng.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    fold = np.empty(len(strata), dtype=np.int64)
    fold[order] = np.arange(len(strata)) % folds
    return fold
