"""Splits for data without a split column: every group is divided at random by the same shares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ftt.arrays import IntArray
from ftt.data.grouped import SPLITS
from ftt.errors import FttError


def make_splits(y: IntArray, a: IntArray, shares: tuple[float, ...], rng: np.random.Generator) -> npt.NDArray[np.str_]:
    """A split for every row, stratified by label and attribute.

    All three come from one distribution: that of the rows. A group of three rows or more is in every split.

    Parameters
    ----------
    y, a : (n,) int arrays
        Label and attribute; together they are the groups.
    shares : three floats
        Of train, val and test; only their ratios count.

    Returns
    -------
    (n,) str array of "train", "val", "test"

    Examples
    --------
    >>> y, a = np.repeat([0, 1], 10), np.zeros(20, dtype=np.int64)
    >>> split = make_splits(y, a, (0.6, 0.2, 0.2), np.random.default_rng(0))
    >>> [int((split[y == 1] == name).sum()) for name in ("train", "val", "test")]
    [6, 2, 2]
    """
    if len(shares) != 3 or not all(np.isfinite(share) and share > 0 for share in shares):
        raise FttError(
            "shares must be three positive numbers", given=shares, allowed="train, val and test, such as 0.6,0.2,0.2"
        )
    split = np.full(len(y), "train")
    for label, value in np.unique(np.stack([y, a]), axis=1).T:
        rows = rng.permutation(np.flatnonzero((y == label) & (a == value)))
        edges = np.cumsum(divide(len(rows), shares))[:-1]
        for name, part in zip(SPLITS, np.split(rows, edges), strict=True):
            split[part] = name
    return split


def divide(count: int, shares: tuple[float, ...]) -> list[int]:
    """`count` in whole numbers near these shares; none is 0 where there is enough for all.

    Examples
    --------
    >>> divide(10, (0.6, 0.2, 0.2)), divide(3, (0.6, 0.2, 0.2)), divide(1, (0.6, 0.2, 0.2))
    ([6, 2, 2], [1, 1, 1], [1, 0, 0])
    """
    exact = np.array(shares) / sum(shares) * count
    sizes = np.floor(exact + 1e-9).astype(int)
    # What is left over goes to the largest remainders, the earlier split first.
    sizes[np.argsort(sizes - exact, kind="stable")[: count - sizes.sum()]] += 1
    while count >= len(sizes) and sizes.min() == 0:
        sizes[sizes.argmax()] -= 1
        sizes[sizes.argmin()] += 1
    return [int(size) for size in sizes]
