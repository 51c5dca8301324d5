"""Label noise as pure functions on label arrays: which rows are flipped, never how they are stored.

Two kinds. *Core noise* is the share of rows whose observed label is not the true one. *Spurious noise* is the share
of rows whose attribute does not follow the observed label. All flips are exact in number and seeded.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ftt.arrays import BoolArray, IntArray
from ftt.errors import FttError

Policy = Literal["keep-spurious", "proportional"]


def flip_exactly(y: IntArray, rate: float, rng: np.random.Generator) -> BoolArray:
    """Mask of round(rate · n_c) rows of every class c.

    Parameters
    ----------
    y : (n,) int array
        Labels.
    rate : float
        Share of each class to flip, in [0, 0.5]; above that the label would mean its opposite.
    """
    if not 0 <= rate <= 0.5:
        raise FttError("noise is outside its feasible range", given=rate, allowed="0 <= noise <= 0.5")
    mask = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        mask[rng.choice(rows, size=round(rate * len(rows)), replace=False)] = True
    return mask


def flip_by_table(
    y: IntArray, a: IntArray, rate: float, rng: np.random.Generator, policy: Policy = "keep-spurious"
) -> BoolArray:
    """Mask of the paper's flip table (binary label, binary attribute): core noise rises, spurious noise stays.

    ``keep-spurious`` (the paper): of each label y, n = round(N_y · rate) rows are flipped, n // 2 with attribute 0
    and the rest with attribute 1. A flip that agrees with the attribute raises the spurious noise by one row, one that
    disagrees lowers it by one, so the two halves cancel. ``proportional`` (the released code, on validation data): the
    n rows are divided as the label's rows are, ⌊n · N_y0 / N_y⌋ with attribute 0 and the rest with attribute 1.

    Parameters
    ----------
    y, a : (n,) int arrays of 0 and 1
        Labels and attribute.
    rate : float
        The core noise to make, in [0, 0.5].
    """
    if not 0 <= rate <= 0.5:
        raise FttError("core noise is outside its feasible range", given=rate, allowed="0 <= core_noise <= 0.5")
    if rate > 0 and (set(np.unique(y)) - {0, 1} or set(np.unique(a)) - {0, 1}):
        raise FttError(
            "the flip table needs two labels and two attribute values",
            given=f"{len(np.unique(y))} labels, {len(np.unique(a))} attribute values",
            allowed="labels 0, 1 and attribute 0, 1",
            hint="set core_noise to 0",
        )
    mask = np.zeros(len(y), dtype=bool)
    for label in (0, 1):
        wanted = round(float((y == label).sum()) * rate)
        first = wanted // 2
        if policy == "proportional" and wanted:
            # The share first, then the product, as the notebook does: the last bit decides what is cut off.
            first = int(wanted * (int(((y == label) & (a == 0)).sum()) / int((y == label).sum())))
        parts = (first, wanted - first)
        for value in (0, 1):
            rows = np.flatnonzero((y == label) & (a == value))
            size = parts[value]
            if size > len(rows):
                raise _too_much(y, a, rate, label, value, size, len(rows))
            mask[rng.choice(rows, size=size, replace=False)] = True
    return mask


def largest_rate(y: IntArray, a: IntArray) -> float:
    """The largest core noise, to four decimals, at which each half of the flips fits its group."""
    limits = [0.5]
    for label in (0, 1):
        first, second = (int(((y == label) & (a == value)).sum()) for value in (0, 1))
        # An odd number of flips puts its extra row into the second group.
        most = min(2 * first + 1, 2 * second)
        if first + second:
            # The number of flips is rounded, so a rate just short of the next half still gives `most` of them.
            exact = (most + 0.49) / (first + second) if most else 0.0
            limits.append(math.floor(exact * 1e4) / 1e4)
    return min(limits)


def _too_much(y: IntArray, a: IntArray, rate: float, label: int, value: int, size: int, there: int) -> FttError:
    return FttError(
        f"core noise {rate:g} is not possible without changing the spurious noise: "
        f"{size} rows of group (label {label}, attribute {value}) would be flipped, it has {there}",
        given=rate,
        allowed=f"0 <= core_noise <= {largest_rate(y, a):.4g}",
        hint="lower --core-noise",
    )


def core_noise(y: IntArray, y_clean: IntArray) -> float:
    """Share of rows whose observed label is wrong."""
    return float(np.mean(y != y_clean))


def spurious_noise(y: IntArray, a: IntArray) -> float:
    """Share of rows whose attribute does not follow the observed label (binary, or equal numbers of both)."""
    return float(np.mean(y != a))
