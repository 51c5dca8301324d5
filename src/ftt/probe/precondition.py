"""The shape of the features, found once and shared by every problem on them.

The Hessian of a logistic regression is close to c·Σ + I/(C·n), with Σ the covariance of the features and c the mean of
p(1−p). A few leading eigenvectors of Σ, and one number for all the others, invert that well enough for L-BFGS to need
some twenty steps where it would need hundreds. It only decides how fast a problem is solved, never to what: the rows a
problem does not use may shape the path, the solution is where its own gradient vanishes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from ftt.arrays import FloatArray

MOST = 256
"""Leading directions kept at most; beyond them a step costs more than it saves."""

ENOUGH = 3072
"""Rows that say enough about the leading directions; of more rows evenly spaced ones are taken."""

_SPARE = 16
_SEED = 20230


@dataclass(frozen=True)
class Spectrum:
    """Leading eigenvectors of a covariance, and one variance for the rest.

    Attributes
    ----------
    directions : array (d, k)
        Orthonormal columns.
    variances : array (k,)
        The eigenvalues that belong to them, largest first.
    rest : float
        The variance assumed in every other direction.
    """

    directions: FloatArray
    variances: FloatArray
    rest: float

    def solve(self, vectors: FloatArray, curvature: FloatArray, penalty: FloatArray) -> FloatArray:
        """Apply (curvature·Σ + penalty·I)⁻¹ to each row, with its own curvature and penalty.

        Parameters
        ----------
        vectors : array (J, d)
        curvature, penalty : arrays (J, 1)
        """
        flat = 1 / (curvature * self.rest + penalty)
        leading = vectors @ self.directions
        leading *= 1 / (curvature * self.variances + penalty) - flat
        solved: FloatArray = leading @ self.directions.T
        solved += flat * vectors
        return solved


def leading_spectrum(centred: FloatArray, keep: int) -> Spectrum:
    """Leading eigenvectors of the covariance of centred rows, by one subspace iteration from a fixed start.

    Approximate on purpose: a second iteration costs more than the better directions save.

    Parameters
    ----------
    centred : array (n, d)
        Rows with their mean subtracted.
    keep : int
        Directions wanted, at most min(n, d).
    """
    part = centred[:: max(1, len(centred) // ENOUGH)]
    n, d = part.shape
    keep = min(keep, n, d)
    width = min(n, d, keep + _SPARE)
    start = np.random.default_rng(_SEED).standard_normal((n, width), dtype=np.float32)
    basis = _orthonormal(part.T @ start.astype(part.dtype))
    basis = _orthonormal(part.T @ (part @ basis))
    scores = part @ basis
    variances, turn = np.linalg.eigh((scores.T @ scores).astype(np.float64))
    variances = np.maximum(variances[::-1][:keep], 0) / n
    directions = basis @ turn[:, ::-1][:, :keep].astype(part.dtype)
    return Spectrum(directions, variances.astype(part.dtype), float(variances[-1]))


def _orthonormal(vectors: FloatArray) -> FloatArray:
    # SciPy's keeps single precision, in half the time; NumPy's does not.
    basis: FloatArray = qr(vectors, mode="economic", check_finite=False)[0]
    return basis


def worthwhile(n: int, d: int) -> int:
    """How many directions pay for themselves: the more rows, the dearer a step, and the more are worth finding.

    Not a matter of how many problems there are, so that a problem goes the same way alone and among others.
    """
    return min(n, d, MOST, max(32, n // 16))
