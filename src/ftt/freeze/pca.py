"""Principal components of the initial features: the paper's freeze stage (Algorithm 1, step 1).

One pass over the feature batches collects mean and covariance in float64; one eigendecomposition then serves every
p. Features are centred and not whitened, as in the paper. When not to use: with a backbone that is not pretrained the
directions of largest variance say nothing about the classes (the paper's Appendix A); use contrastive learning there.

``variant="released"`` is what the authors' code does: it fits PCA on the outputs of a *randomly initialised* new layer
and then installs those components as weights on the features themselves. The basis is wrong, and what is frozen is
nearly a random projection.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ftt.freeze.base import Basis, FloatArray, Freezer, moments_of, spanned
from ftt.freeze.eigen import principal
from ftt.freeze.moments import Moments
from ftt.params import param


@dataclass(frozen=True)
class PCA(Freezer):
    """Directions of largest variance of M(x), without labels."""

    name: ClassVar[str] = "pca"

    variant: str = param(
        "paper", help="the paper's PCA, or the released code's wrong basis", choices=("paper", "released")
    )
    seed: int = param(0, help="seed of the random layer (released)", low=0)

    def basis(self, batches: Iterable[FloatArray], m: int) -> Basis:
        moments = moments_of(batches, m)
        if self.variant == "released":
            return _released(moments, m, self.seed)
        components, variance, total = principal(moments, m)
        return Basis(
            weight=np.ascontiguousarray(components.T, dtype=np.float32),
            mean=moments.mean.astype(np.float32),
            variance=variance,
            total=total,
        )


def _released(moments: Moments, m: int, seed: int) -> Basis:
    """Components of R·φ + c, for R and c as torch initialises a Linear(m, m), used as if they were components of φ."""
    rng = np.random.default_rng([seed, 0x4E1E])
    limit = 1 / np.sqrt(m)
    layer, offset = rng.uniform(-limit, limit, (m, m)), rng.uniform(-limit, limit, m)
    _, vectors = np.linalg.eigh(layer @ moments.covariance() @ layer.T)
    return spanned(moments, vectors[:, ::-1], layer @ moments.mean + offset)
