"""A random projection of the initial features: the control that asks whether PCA matters or any frozen copy does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ftt.freeze.freezer import Basis, Freezer, spanned
from ftt.freeze.moments import Moments
from ftt.params import param
from ftt.rng import generator


@dataclass(frozen=True)
class RandomProjection(Freezer):
    """Orthonormal directions drawn uniformly; they know nothing of the data but its mean."""

    name: ClassVar[str] = "random"

    seed: int = param(0, help="seed of the directions", low=0)

    def find(self, moments: Moments) -> Basis:
        m = moments.dim
        gaussian = generator(self.seed, "random projection").standard_normal((m, m))
        directions, triangle = np.linalg.qr(gaussian)
        # Signs of the triangle's diagonal make the distribution uniform over all rotations.
        return spanned(moments, directions * np.sign(np.diag(triangle)), moments.mean)
