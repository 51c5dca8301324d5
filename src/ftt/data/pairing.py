"""The Dominoes construction: two pools of labelled things, joined into one data set with a spurious half.

Training environment: the observed label is the noisy core label, and the spurious half follows it but for an exact
share of rows. Target environment: the spurious half is independent of the label, exactly balanced within each class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ftt.arrays import BoolArray, IntArray
from ftt.data.noise import flip_exactly


@dataclass(frozen=True)
class Pairs:
    """n pairs: row numbers into the two pools, labels, attribute and what the noise touched."""

    core: IntArray
    spurious: IntArray
    y: IntArray
    y_clean: IntArray
    a: IntArray
    core_flipped: BoolArray
    spurious_flipped: BoolArray


def pair_correlated(
    core_y: IntArray,
    spurious_y: IntArray,
    *,
    core_noise: float,
    spurious_noise: float,
    rng: np.random.Generator,
) -> Pairs:
    """Training environment: y is core_y with exact flips, the attribute is y with exact flips of its own.

    Parameters
    ----------
    core_y : (n,) int array of 0 and 1
        True labels of the core things; every one is used once.
    spurious_y : (k,) int array of 0 and 1
        Labels of the spurious pool.
    """
    core_flipped = flip_exactly(core_y, core_noise, rng)
    y = np.where(core_flipped, 1 - core_y, core_y)
    spurious_flipped = flip_exactly(y, spurious_noise, rng)
    a = np.where(spurious_flipped, 1 - y, y)
    return _shuffled(core_y, spurious_y, y, a, core_flipped, spurious_flipped, rng)


def pair_independent(core_y: IntArray, spurious_y: IntArray, *, core_noise: float, rng: np.random.Generator) -> Pairs:
    """Target environment: half of each true class carries attribute 0, half attribute 1, whatever the label."""
    core_flipped = flip_exactly(core_y, core_noise, rng)
    y = np.where(core_flipped, 1 - core_y, core_y)
    a = np.where(flip_exactly(core_y, 0.5, rng), 1 - core_y, core_y)
    return _shuffled(core_y, spurious_y, y, a, core_flipped, np.zeros(len(y), dtype=bool), rng)


def make_environments(
    core_y: Mapping[str, IntArray],
    spurious_y: Mapping[str, IntArray],
    *,
    core_noise: float,
    spurious_noise: float,
    rng: np.random.Generator,
) -> dict[str, Pairs]:
    """The three splits: train is correlated and noisy, val is the noisy target, test the clean target."""
    return {
        "train": pair_correlated(
            core_y["train"], spurious_y["train"], core_noise=core_noise, spurious_noise=spurious_noise, rng=rng
        ),
        "val": pair_independent(core_y["val"], spurious_y["val"], core_noise=core_noise, rng=rng),
        "test": pair_independent(core_y["test"], spurious_y["test"], core_noise=0.0, rng=rng),
    }


def _shuffled(
    core_y: IntArray,
    spurious_y: IntArray,
    y: IntArray,
    a: IntArray,
    core_flipped: BoolArray,
    spurious_flipped: BoolArray,
    rng: np.random.Generator,
) -> Pairs:
    spurious = np.empty(len(y), dtype=np.int64)
    for value in (0, 1):
        rows = np.flatnonzero(a == value)
        spurious[rows] = _draw(np.flatnonzero(spurious_y == value), len(rows), rng)
    order = rng.permutation(len(y))
    return Pairs(
        core=order,
        spurious=spurious[order],
        y=y[order],
        y_clean=core_y[order],
        a=a[order],
        core_flipped=core_flipped[order],
        spurious_flipped=spurious_flipped[order],
    )


def _draw(pool: IntArray, size: int, rng: np.random.Generator) -> IntArray:
    """`size` members of the pool, none twice before all were used once."""
    rounds = [rng.permutation(pool) for _ in range(-(-size // len(pool)))]
    return np.concatenate(rounds)[:size] if rounds else np.empty(0, dtype=np.int64)
