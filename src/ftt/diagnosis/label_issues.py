"""Rows whose label looks wrong, as a table with the column names of cleanlab's Datalab.

``label_score`` is the probability of the given label: from the calibration curve of `ftt.diagnosis.asymptote`, which
knows that labels can be wrong and has intercepts within attribute values. As many rows are marked as there are wrong
labels by the estimate, lowest scores first, and only where another label is more likely. Where labels are noisy at
random and features carry them poorly many marked rows are right: the score orders rows for inspection.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ftt.arrays import BoolArray, FloatArray, IntArray
from ftt.diagnosis import asymptote
from ftt.diagnosis.estimate import Estimate
from ftt.diagnosis.scores import Scores


@dataclass(frozen=True)
class LabelIssues:
    """Scores of all rows.

    Attributes
    ----------
    score : (n,) array
        Probability of the given label.
    is_issue : (n,) bool array
    likely : (n,) int array
        The most likely label.
    noise : Estimate
        Share of wrong labels.
    """

    score: FloatArray
    is_issue: BoolArray
    likely: IntArray
    noise: Estimate


def find(scores: Scores, a: IntArray) -> LabelIssues:
    """Score every label.

    Parameters
    ----------
    scores : Scores
        Out-of-fold scores of the labels, or logits of a classifier that was not fitted on these rows.
    a : (n,) int array
        Attribute, within whose values labels are judged.
    """
    noise, clean = asymptote.clean_probabilities(scores, a)
    rows = np.arange(len(scores.codes))
    given, likely = clean[rows, scores.codes], clean.argmax(axis=1)
    order = np.argsort(given, kind="stable")
    marked = np.zeros(len(rows), dtype=bool)
    marked[order[: round(noise.value * len(rows))]] = True
    return LabelIssues(given, marked & (likely != scores.codes), likely, noise)
