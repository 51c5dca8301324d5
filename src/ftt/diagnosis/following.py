"""How strongly predictions follow an attribute at a fixed label.

A classifier that uses the core alone gives rows of one label the same predictions whatever their attribute. For every
label, the largest total variation distance between the predictions of two attribute values; then the mean over labels,
weighted by their rows. 0: the attribute makes no difference; 1: it decides. The largest of several differences is above
0 by chance, so the value is set beside that of attributes shuffled within labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ftt.arrays import FloatArray, IntArray
from ftt.params import Json

SHUFFLES = 200
FEWEST = 5
"""Rows of a label and attribute value below which the cell is left out."""


@dataclass(frozen=True)
class Following:
    """How far predictions follow one attribute.

    Attributes
    ----------
    value : float
        Mean over labels of the largest difference between two attribute values.
    chance : float
        The same for shuffled attributes, 95th percentile.
    """

    value: float
    chance: float

    @property
    def distinguishable(self) -> bool:
        return self.value > self.chance

    def to_json(self) -> dict[str, Json]:
        return {"value": self.value, "chance": self.chance, "distinguishable": self.distinguishable}


def follow(predicted: IntArray, y: IntArray, a: IntArray, *, seed: int = 0) -> Following:
    """Measure it.

    Parameters
    ----------
    predicted, y, a : (n,) int arrays
        Codes of predictions, labels and attribute values.

    Examples
    --------
    >>> y, a = np.repeat([0, 1], 100), np.tile([0, 1], 100)
    >>> follow(a, y, a).value, follow(y, y, a).value
    (1.0, 0.0)
    """
    rng = np.random.default_rng(seed)
    by_label = [np.flatnonzero(y == label) for label in np.unique(y)]
    drawn = []
    for _ in range(SHUFFLES):
        shuffled = a.copy()
        for rows in by_label:
            shuffled[rows] = rng.permutation(a[rows])
        drawn.append(_measure(predicted, y, shuffled))
    return Following(_measure(predicted, y, a), float(np.quantile(drawn, 0.95)))


def _measure(predicted: IntArray, y: IntArray, a: IntArray) -> float:
    K = int(max(predicted.max(), y.max())) + 1
    table = np.zeros((K, int(a.max()) + 1, K))
    np.add.at(table, (y, a, predicted), 1)
    total = weight = 0.0
    for of in table:
        rows = of.sum(axis=1)
        shares: list[FloatArray] = [cell / n for cell, n in zip(of, rows, strict=True) if n >= FEWEST]
        if len(shares) > 1:
            total += rows.sum() * max(0.5 * float(np.abs(p - q).sum()) for p, q in combinations(shares, 2))
            weight += rows.sum()
    return float(total / weight) if weight else 0.0
