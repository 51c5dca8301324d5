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

from ftt.arrays import FloatArray, IntArray
from ftt.freeze.eigen import principal
from ftt.freeze.freezer import Basis, Freezer, spanned
from ftt.freeze.moments import Moments
from ftt.params import param
from ftt.rng import generator


@dataclass(frozen=True)
class PCA(Freezer):
    """Directions of largest variance of M(x), without labels."""

    name: ClassVar[str] = "pca"

    variant: str = param(
        "paper", help="the paper's PCA, or the wrong basis of the released code", choices=("paper", "released")
    )
    seed: int = param(0, help="seed of the random layer (variant released) and of the drawn rows", low=0)
    rows: int | None = param(None, help="number of rows to fit on, drawn at random (default: all)", low=2, added=True)

    def basis(self, batches: Iterable[FloatArray], m: int) -> Basis:
        if self.rows is None:
            return super().basis(batches, m)
        phi = np.concatenate(list(batches))
        rows = self.drawn(len(phi))
        return super().basis([phi if rows is None else phi[rows]], m)

    def drawn(self, n: int) -> IntArray | None:
        if self.rows is None or self.rows >= n:
            return None
        return np.sort(generator(self.seed, "rows").choice(n, self.rows, replace=False))

    def find(self, moments: Moments) -> Basis:
        if self.variant == "released":
            return _released(moments, moments.dim, self.seed)
        components, variance, total = principal(moments)
        return Basis(weight=components.T, mean=moments.mean, variance=variance, total=total)


def _released(moments: Moments, m: int, seed: int) -> Basis:
    """Components of R·φ + c, for R and c as torch initialises a Linear(m, m), used as if they were components of φ."""
    rng = generator(seed, "released layer")
    limit = 1 / np.sqrt(m)
    layer, offset = rng.uniform(-limit, limit, (m, m)), rng.uniform(-limit, limit, m)
    _, vectors = np.linalg.eigh(layer @ moments.covariance() @ layer.T)
    return spanned(moments, vectors[:, ::-1], layer @ moments.mean + offset)
