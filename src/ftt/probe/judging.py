"""How fits are judged on the halves they have not seen.

``worst-group``: accuracy in the worst group, as in the paper. It moves in steps of single rows, and wrong labels shrink
its differences.

``log-loss``: the mean over groups g of the mean log-loss −log softmax(s)[y] of their rows. Smooth, but it also asks for
the right confidence, and so for a larger C than the best direction needs; wrong labels make that worse.

``calibrated-log-loss``: the same at the best temperature,

    min over t > 0 of   mean_g mean_{i in g} −log softmax(t·sᵢ)[yᵢ],

which is smooth and judges only what the scores tell apart. t is one number per fit and half, and is then forgotten.

Neither smooth criterion is better everywhere. On planted data with wrong labels plain log-loss costs up to three points
of worst-group accuracy and the calibrated one gains; on initial and trained features side by side (Dominoes) both chose
nearly the same, more steadily over seeds than worst-group accuracy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, softmax

from ftt.arrays import FloatArray, IntArray

CRITERIA = ("worst-group", "log-loss", "calibrated-log-loss")

_STEPS = 25
_HOTTEST = 10.0
"""Largest |log t|: beyond it the loss is that of certainty, or of ignorance."""


@dataclass(frozen=True)
class Judged:
    """Means over the held-out halves, by C: worst-group accuracy, and the criterion (larger is better)."""

    worst: dict[float, float]
    score: dict[float, float]


def judge(
    scores: FloatArray,
    y: IntArray,
    groups: IntArray,
    halves: list[tuple[IntArray, IntArray]],
    grid: Sequence[float],
    criterion: str,
) -> Judged:
    """Mean scores on the halves that the fits did not see.

    Parameters
    ----------
    scores : (n, J, K') array
        Of every row by each fit: for every pair of halves, one fit per value of C.
    y, groups : (n,) arrays
        Codes from 0 on.
    halves : list of (fitted, held out)
    grid : sequence of float
        Values of C.
    criterion : str
        One of `CRITERIA`.
    """
    width = len(grid)
    worst, score = np.empty((len(halves), width)), np.empty((len(halves), width))
    for repeat, (_, held_out) in enumerate(halves):
        own = scores[held_out, repeat * width : (repeat + 1) * width]
        rows = [groups[held_out] == group for group in np.unique(groups[held_out])]
        right = _predicted(own) == y[held_out, None]
        worst[repeat] = np.min([right[row].mean(axis=0) for row in rows], axis=0)
        if criterion != "worst-group":
            weights = np.sum([row / (row.sum() * len(rows)) for row in rows], axis=0)
            score[repeat] = -balanced_loss(_logits(own), y[held_out], weights, criterion == "calibrated-log-loss")
    means = dict(zip(grid, worst.mean(axis=0).tolist(), strict=True))
    if criterion == "worst-group":
        return Judged(means, means)
    return Judged(means, dict(zip(grid, score.mean(axis=0).tolist(), strict=True)))


def balanced_loss(logits: FloatArray, y: IntArray, weights: FloatArray, calibrated: bool) -> FloatArray:
    """Weighted log-loss of (n, J, K) logits, (J,), at temperature 1 or at the best one of each fit."""
    own = np.take_along_axis(logits, y[:, None, None], axis=2)[:, :, 0]
    t = _temperatures(logits, own, weights) if calibrated else np.ones(logits.shape[1])
    losses: FloatArray = weights @ (logsumexp(t[:, None] * logits, axis=2) - t * own)
    return losses


def _temperatures(logits: FloatArray, own: FloatArray, weights: FloatArray) -> FloatArray:
    """The factor t of each fit's logits that makes the loss least, by Newton steps on log t, (J,)."""
    log_t = np.zeros(logits.shape[1])
    for _ in range(_STEPS):
        t = np.exp(log_t)
        chance = softmax(t[:, None] * logits, axis=2)
        mean = (chance * logits).sum(axis=2)
        slope = t * (weights @ (mean - own))
        bend = t**2 * (weights @ ((chance * logits**2).sum(axis=2) - mean**2))
        step = np.clip(-slope / np.maximum(bend, 1e-12), -1, 1)
        log_t = np.clip(log_t + step, -_HOTTEST, _HOTTEST)
        if (np.abs(step) < 1e-4).all():
            break
    return np.exp(log_t)


def _logits(scores: FloatArray) -> FloatArray:
    """(n, J, K) logits of (n, J, K') scores, in double precision."""
    wide = scores.astype(np.float64)
    return np.concatenate([np.zeros_like(wide), wide], axis=2) if wide.shape[2] == 1 else wide


def _predicted(scores: FloatArray) -> npt.NDArray[np.intp]:
    """Classes of (n, J, K') scores."""
    return (scores[:, :, 0] > 0).astype(np.intp) if scores.shape[2] == 1 else scores.argmax(axis=2)
