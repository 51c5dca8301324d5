"""Principal components of the initial features: the paper's freeze stage (Algorithm 1, step 1).

One pass over the feature batches collects mean and covariance in float64; one eigendecomposition then serves every
p. Features are centred and not whitened, as in the paper. When not to use: with a backbone that is not pretrained the
directions of largest variance say nothing about the classes (the paper's Appendix A); use contrastive learning there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ftt.freeze.base import Basis, FloatArray, Freezer
from ftt.freeze.eigen import principal
from ftt.freeze.moments import Moments


@dataclass(frozen=True)
class PCA(Freezer):
    """Directions of largest variance of M(x), without labels."""

    name: ClassVar[str] = "pca"

    def basis(self, batches: Iterable[FloatArray], m: int) -> Basis:
        moments = Moments(m)
        for batch in batches:
            moments.add(batch)
        components, variance, total = principal(moments, m)
        return Basis(
            weight=np.ascontiguousarray(components.T, dtype=np.float32),
            mean=moments.mean.astype(np.float32),
            variance=variance,
            total=total,
        )
