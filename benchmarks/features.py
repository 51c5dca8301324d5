"""Features like those of a backbone, without one.

Activations after a ReLU are non-negative, half of them zero, with a mean that is not; the variances of their
principal components fall like a power. With the power `LIKE_A_BACKBONE` the first 1, 4, 16, 64, 256 and 512 components
hold 33, 56, 74, 85, 93 and 96 % of the variance; EfficientNet-Lite0 gave 28, 49, 67, 83, 94 and 98 % on 2,400 crops of
two photographs with digits pasted in. One small sample of one backbone: the flatter `FLAT` (9, 19, 32, 46, 64 and 76 %)
is benchmarked too, because a loop over scikit-learn needs fewer iterations there and ratios come out lower.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.float32]
Labels = NDArray[np.int64]

LIKE_A_BACKBONE, FLAT = 1.6, 1.0
MEAN = 0.45
WATERBIRDS_VAL = (467, 466, 133, 133)
CELEBA_VAL = (524, 8276, 2874, 182)
"""Rows of the groups (y, a) = (0, 0), (0, 1), (1, 0), (1, 1)."""


@dataclass(frozen=True)
class Source:
    """A way to draw rows: latent directions of falling variance, turned, shifted, cut off at zero."""

    turn: Features
    deviations: Features
    shift: Features
    scale: float

    @classmethod
    def make(cls, d: int, seed: int = 0, power: float = LIKE_A_BACKBONE) -> Source:
        """A source of d features."""
        rng = np.random.default_rng([seed, d])
        turn = np.linalg.qr(rng.standard_normal((d, d)))[0].T.astype(np.float32)
        deviations = np.arange(1, d + 1) ** (-power / 2)
        deviations *= np.sqrt(d) / np.linalg.norm(deviations)
        shift = 0.3 * rng.standard_normal(d).astype(np.float32)
        bare = cls(turn, deviations.astype(np.float32), shift, 1.0)
        return cls(turn, bare.deviations, shift, MEAN / float(bare.rows(np.zeros((512, d)), rng).mean()))

    def rows(self, centres: NDArray[np.floating], rng: np.random.Generator) -> Features:
        """(n, d) features around centres in the latent directions, in units of their deviations."""
        latent = rng.standard_normal(centres.shape, dtype=np.float32) + centres.astype(np.float32)
        features = np.asarray((latent * self.deviations) @ self.turn + self.shift, dtype=np.float32)
        np.maximum(features, 0, out=features)
        features *= np.float32(self.scale)
        return features

    def batches(self, n: int, size: int, seed: int = 1) -> Iterator[Features]:
        """n rows around zero, at most `size` at a time."""
        rng = np.random.default_rng(seed)
        for start in range(0, n, size):
            yield self.rows(np.zeros((min(size, n - start), len(self.shift))), rng)


def grouped(
    counts: tuple[int, int, int, int], d: int, *, noise: float = 0.1, seed: int = 0, power: float = LIKE_A_BACKBONE
) -> tuple[Features, Labels, Labels]:
    """Features, observed labels (a tenth of them wrong) and attributes of the four groups.

    Label and attribute each move some forty latent directions of large variance.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(sum(counts))
    y, a = np.repeat([0, 0, 1, 1], counts)[order], np.repeat([0, 1, 0, 1], counts)[order]
    moved = np.zeros((2, d))
    width = min(38, d - 2)
    moved[:, 2 : 2 + width] = rng.standard_normal((2, width)) * [[0.35], [0.45]]
    X = Source.make(d, seed, power).rows(np.stack([2 * y - 1, 2 * a - 1], axis=1) @ moved, rng)
    return X, np.where(rng.random(len(y)) < noise, 1 - y, y), a
