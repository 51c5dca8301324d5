"""Blocks of features with a penalty each: which columns belong together, and how strongly each block is scaled.

Block b is divided by σ_b, the root of the mean variance of its columns, and multiplied by its ratio r_b. A logistic
regression on the scaled columns is one on the columns as they came, with a penalty per block:

    minimise over w, b:   ½ Σ_b (σ_b / r_b)² ‖w_b‖² + C Σᵢ loss(yᵢ, w·xᵢ + b).

So a small ratio suppresses a block and 0 leaves it out, while the solver knows nothing of blocks. Only ratios to each
other matter, since C moves all of them; the largest is kept at 1.

Ratios and C are chosen together, on halves that the fits have not seen. All ratios start at 1. Then one block after
another tries every value, the others staying at the best found so far; a change must be strictly better. With two
blocks that visits nearly all pairs. σ_b is one number per block, found without labels.

When not to use: on few rows, where the best of many noisy held-out scores is chosen more by luck than by merit; there
a smooth criterion ("calibrated-log-loss") and more repeats help. And not where blocks are known to be equally good:
each block adds nearly as many rounds of fits as there are ratios.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ftt.arrays import FloatArray, IntArray
from ftt.errors import FttError

Ratios = tuple[float, ...]
"""The ratio of each block, the largest being 1."""

RATIOS = (1.0, 10**-0.5, 0.1, 10**-1.5)


def block_members(blocks: Sequence[Any] | npt.NDArray[Any] | None, d: int) -> IntArray:
    """The block of each of d columns, (d,).

    Parameters
    ----------
    blocks : sequence of int or slice, optional
        Widths of adjacent blocks, or the columns of each; together they must hold every column once.

    Examples
    --------
    >>> block_members([2, 1], 3).tolist(), block_members([slice(1, None), slice(0, 1)], 3).tolist()
    ([0, 0, 1], [1, 0, 0])
    """
    if blocks is None:
        return np.zeros(d, dtype=np.int64)
    members, start = np.full(d, -1, dtype=np.int64), 0
    held = np.zeros(d, dtype=np.int64)
    for number, block in enumerate(blocks):
        columns = block
        if not isinstance(block, slice):
            if isinstance(block, bool) or not isinstance(block, int | np.integer) or block < 1:
                raise _invalid("blocks", blocks, "positive widths or slices")
            columns = slice(start, start + int(block))
            start += int(block)
        held[columns] += 1
        members[columns] = number
    if start > d or not (held == 1).all() or set(members.tolist()) != set(range(len(blocks))):
        raise _invalid("blocks", blocks, f"widths with a sum of {d}, or slices that hold each of {d} columns once")
    return members


def check_ratios(ratios: Sequence[float]) -> tuple[float, ...]:
    """The values a block's ratio may take."""
    try:
        values = tuple(float(ratio) for ratio in ratios)
    except (TypeError, ValueError):
        values = ()
    if not values or not all(0 <= ratio < np.inf for ratio in values):
        raise _invalid("ratios", ratios, "one or more finite values, 0 or above")
    return values


def spreads(X: FloatArray, members: IntArray) -> FloatArray:
    """Root of the mean variance of each block's columns, (B,); 1 for blocks that do not vary."""
    variance = X.var(axis=0, dtype=np.float64)
    found: FloatArray = np.sqrt(np.bincount(members, weights=variance) / np.bincount(members))
    return np.where(found > 0, found, 1.0)


def variants(ratios: Ratios, block: int, values: Sequence[float]) -> Iterator[Ratios]:
    """The ratios with that of one block replaced by each value in turn, the largest brought back to 1."""
    for value in values:
        changed = np.array([value if number == block else ratio for number, ratio in enumerate(ratios)])
        if changed.max() > 0:
            # Rounded, so that the same ratios are recognised whichever way they were reached.
            yield tuple(float(ratio) for ratio in np.round(changed / changed.max(), 12))


def _invalid(name: str, given: object, allowed: str) -> FttError:
    return FttError(f"invalid value for the parameter {name!r} of DFRProbe", given=repr(given), allowed=allowed)
