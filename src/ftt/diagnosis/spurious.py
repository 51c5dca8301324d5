"""Spurious noise: how often the attribute alone misses the label in training.

Where the training split has the attribute it is counted. Where it does not, a probe fitted on the target split predicts
it, and the counts are corrected for that probe's own errors: with M_y[a, b] the share of target rows of label y and
attribute a that it takes for b, the expected counts are n_y[b] = Σ_a m_y[a] M_y[a, b], solved for m.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from ftt.arrays import FloatArray, IntArray
from ftt.diagnosis.estimate import Estimate
from ftt.metrics import Rate

DRAWS = 400


@dataclass(frozen=True)
class Shortcut:
    """What the attribute says about the label in training.

    Attributes
    ----------
    noise : Estimate
        Share of training labels that the best rule on the attribute alone misses.
    rule : (A,) int array
        The label that this rule gives every attribute value.
    constant : float
        Share of labels that the most frequent label misses: what a rule without the attribute gets wrong.
    predicted : bool
        Whether the attribute was predicted rather than given.
    """

    noise: Estimate
    rule: IntArray
    constant: float
    predicted: bool = False


def count(table: IntArray) -> Shortcut:
    """From the (K, A) numbers of training rows by label and attribute."""
    rule, n = table.argmax(axis=0), int(table.sum())
    right = int(table.max(axis=0).sum())
    return Shortcut(Estimate.from_rate(Rate(n - right, n)), rule, 1 - float(table.sum(axis=1).max()) / n)


def count_predicted(table: IntArray, confusion: IntArray, seed: int = 0) -> Shortcut:
    """From predicted attributes.

    Parameters
    ----------
    table : (K, A) int array
        Training rows by label and predicted attribute.
    confusion : (K, A, A) int array
        Target rows by label, attribute and out-of-fold predicted attribute.
    """
    rng = np.random.default_rng(seed)
    corrected = _corrected(table.astype(float), confusion.astype(float))
    n = table.sum()
    drawn = []
    for _ in range(DRAWS):
        counts = rng.multinomial(n, table.ravel() / n).reshape(table.shape)
        errors = np.array([[rng.multinomial(int(row.sum()), _shares(row)) for row in of] for of in confusion])
        again = _corrected(counts.astype(float), errors.astype(float))
        drawn.append(1 - again.max(axis=0).sum() / again.sum())
    value = float(1 - corrected.max(axis=0).sum() / corrected.sum())
    low, high = np.quantile(drawn, [0.025, 0.975])
    noise = Estimate(value, float(min(low, value)), float(max(high, value)))
    return Shortcut(noise, corrected.argmax(axis=0), 1 - float(table.sum(axis=1).max()) / float(n), predicted=True)


def _corrected(table: FloatArray, confusion: FloatArray) -> FloatArray:
    """Numbers by label and true attribute, none negative, of the same sum for every label."""
    out = np.zeros_like(table)
    pooled = confusion.sum(axis=0)
    for y, counts in enumerate(table):
        # Of a group that the target split lacks, the errors of the attribute value at large are the best guess.
        rows = np.where(confusion[y].sum(axis=1, keepdims=True) > 0, confusion[y], pooled)
        shares = np.stack([_shares(row) for row in rows])
        solved, _ = nnls(shares.T, counts)
        out[y] = solved * (counts.sum() / solved.sum()) if solved.sum() > 0 else counts
    return out


def _shares(row: FloatArray) -> FloatArray:
    total = row.sum()
    found: FloatArray = row / total if total > 0 else np.full(len(row), 1 / len(row))
    return found
