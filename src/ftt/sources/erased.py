"""Initial features from which the attribute has been erased.

Belrose et al., *LEACE: perfect linear concept erasure in closed form*, NeurIPS 2023. With W = Σ_xx^{−1/2} and P the
orthogonal projection on the columns of W·Σ_xa,

    x ↦ x − W⁺·P·W·(x − E x)

is the smallest linear change after which no linear classifier can predict the attribute better than a constant.
Fitted on the target split, where label and attribute are independent, so that the label is not erased with it.

When not to use: where label and attribute go together in the target split too; or where the attribute is wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ftt.arrays import FloatArray, IntArray
from ftt.freeze.freezer import Projection
from ftt.sources.source import Source

if TYPE_CHECKING:
    from ftt.train.fitting import Job
    from ftt.train.model import Block


@dataclass(frozen=True)
class Erased(Source):
    """Initial features without what tells the attribute linearly (LEACE)."""

    name: ClassVar[str] = "erased"
    uses_target: ClassVar[bool] = True

    def fit(self, job: Job) -> Block:
        target = job.require_target("erased")
        initial = job.initial_block()
        return replace(initial, projection=leace(job.features([initial], target).astype(np.float64), target.a))


def leace(phi: FloatArray, a: IntArray, tol: float = 1e-8) -> Projection:
    """The affine map that erases an attribute.

    Parameters
    ----------
    phi : (n, m) float array
        Features.
    a : (n,) int array
        Attribute codes.
    """
    mean = phi.mean(axis=0)
    x, z = phi - mean, (a[:, None] == np.unique(a)).astype(np.float64)
    cross = x.T @ (z - z.mean(axis=0)) / len(x)
    values, vectors = np.linalg.eigh(x.T @ x / len(x))
    kept = values > tol * values.max()
    roots, basis = np.sqrt(values[kept]), vectors[:, kept]
    left, spread, _ = np.linalg.svd((basis / roots).T @ cross, full_matrices=False)
    left = left[:, spread > tol * max(spread.max(), 1e-300)]
    # W⁺ P W in the basis of the covariance; everything outside its range is left as it is.
    erase = (basis * roots) @ left @ left.T @ (basis / roots).T
    weight = np.eye(len(mean)) - erase.T
    return Projection(weight.astype(np.float32), (mean @ erase.T).astype(np.float32), 1.0)
