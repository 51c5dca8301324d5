"""The shape of the features, found once and shared by every problem on them.

The Hessian of a logistic regression is close to c·Σ + I/(C·n), with Σ the covariance of the features and c the mean of
p(1−p). A few leading eigenvectors of Σ, and one number for all the others, invert that well enough for L-BFGS to need
some twenty steps where it would need hundreds. It only decides how fast a problem is solved, never to what: the rows a
problem does not use may shape the path, the solution is where its own gradient vanishes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ftt.probe.problems import FloatArray

MOST = 256
"""Leading directions kept at most; beyond them a step costs more than it saves."""

_SPARE = 16
_SEED = 20230


@dataclass(frozen=True)
class Spectrum:
    """Leading eigenvectors of a covariance, and a stand-in for the rest.

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
        Rows with their mean taken away.
    keep : int
        Directions wanted, at most min(n, d).
    """
    n, d = centred.shape
    width = min(n, d, keep + _SPARE)
    start = np.random.default_rng(_SEED).standard_normal((n, width), dtype=np.float32)
    basis = centred.T @ start.astype(centred.dtype)
    basis = np.linalg.qr(centred.T @ (centred @ np.linalg.qr(basis)[0]))[0]
    scores = centred @ basis
    variances, turn = np.linalg.eigh((scores.T @ scores).astype(np.float64))
    variances = np.maximum(variances[::-1][:keep], 0) / n
    directions = basis @ turn[:, ::-1][:, :keep].astype(centred.dtype)
    return Spectrum(directions, variances.astype(centred.dtype), float(variances[-1]))


def worthwhile(size: int, functions: int) -> int:
    """How many of `size` directions pay for themselves when that many linear functions are to be fitted."""
    return min(size, MOST, max(32, size // (8 if functions > 64 else 16)))
