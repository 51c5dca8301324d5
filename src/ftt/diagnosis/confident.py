"""Label noise as the error of the rows a probe is most confident of.

Their true labels are nearly certain, so nearly all of their errors are wrong labels. What the probe gets wrong itself
counts too: an upper bound, and a noisy one, since nine rows out of ten are not used.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from ftt.arrays import IntArray
from ftt.diagnosis.estimate import Estimate
from ftt.diagnosis.scores import Scores
from ftt.metrics import Rate

SHARE = 0.1


def estimate(scores: Scores, a: IntArray) -> Estimate:
    """Share of observed labels that contradict the most confident tenth, taken within every attribute value."""
    p = softmax(scores.logits, axis=1)
    wrong = n = 0
    for value in np.unique(a):
        rows = np.flatnonzero(a == value)
        count = max(1, round(SHARE * len(rows)))
        picked = rows[np.argsort(-p[rows].max(axis=1), kind="stable")[:count]]
        wrong += int((p[picked].argmax(axis=1) != scores.codes[picked]).sum())
        n += count
    return Estimate.from_rate(Rate(wrong, n))
