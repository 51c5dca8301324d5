"""The shape of the features, found once and shared by every problem on them.

The Hessian of a logistic regression is close to c·Σ + I/(C·n), with Σ the covariance of the features and c the mean of
p(1−p). A few leading eigenvectors of Σ, and one number for all the others, invert that well enough for L-BFGS to need
some twenty steps where it would need hundreds. It only decides how fast a problem is solved, never to what: the rows a
problem does not use may shape the path, the solution is where its own gradient vanishes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, qr, solve_triangular

from ftt.arrays import FloatArray
from ftt.probe.products import product, scores_of, times_rows

MOST = 256
"""Leading directions kept at most; beyond them a step costs more than it saves."""

LEAST_ROWS, MOST_ROWS = 1024, 3072
"""Half of the rows say enough about the leading directions, within these bounds: evenly spaced ones are taken."""

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
        leading = times_rows(vectors, self.directions)
        leading *= 1 / (curvature * self.variances + penalty) - flat
        solved = scores_of(self.directions, leading)
        solved += flat * vectors
        return solved


def leading_spectrum(rows: FloatArray, keep: int) -> Spectrum:
    """Leading eigenvectors of the covariance of some rows: Nyström's approximation from one subspace iteration.

    Approximate on purpose: better directions cost more than they save. With the columns of B orthonormal, Y = Σ·B and
    L Lᵀ = Bᵀ·Σ·B, the covariance Σ is close to F Fᵀ with F = Y·L⁻ᵀ, whose eigenvectors are found from the small FᵀF.
    Scores without their mean are those of rows without theirs, so that no rows are copied to subtract it.

    Parameters
    ----------
    rows : array (n, d)
        With or without their mean.
    keep : int
        Directions wanted, at most min(n, d).
    """
    enough = min(max(len(rows) // 2, LEAST_ROWS), MOST_ROWS)
    part = np.ascontiguousarray(rows[:: max(1, len(rows) // enough)])
    n, d = part.shape
    keep = min(keep, n, d)
    width = min(n, d, keep + _SPARE)
    # Some rows are enough for a start.
    few = part[:: max(1, n // (3 * width))]
    start = np.random.default_rng(_SEED).standard_normal((len(few), width), dtype=np.float32)
    start -= start.mean(axis=0)
    # Transposed twice, so that the narrow factor is laid out anew and not the rows. SciPy's QR keeps single precision,
    # in half the time of NumPy's.
    spread = product(start.T.astype(part.dtype), few).T
    basis: FloatArray = qr(spread, mode="economic", check_finite=False)[0]
    scores = product(part, basis)
    scores -= scores.mean(axis=0)
    image = product(scores.T, part).T
    factor = _nystrom(image, product(scores.T, scores).astype(np.float64))
    squares, turn = np.linalg.eigh(product(factor.T, factor).astype(np.float64))
    squares, turn = squares[::-1][:keep], turn[:, ::-1][:, :keep]
    kept = squares > squares[0] * np.finfo(part.dtype).eps
    squares, turn = squares[kept], turn[:, kept]
    directions = product(factor, (turn / np.sqrt(squares)).astype(part.dtype))
    variances = squares / n
    return Spectrum(directions, variances.astype(part.dtype), float(variances[-1]))


def _nystrom(image: FloatArray, inner: FloatArray) -> FloatArray:
    """Y·L⁻ᵀ with L Lᵀ the inner matrix, (d, width)."""
    # Directions without variance would make the factor infinite.
    inner[np.diag_indices(len(inner))] += np.finfo(image.dtype).eps * np.trace(inner)
    lower = cholesky(inner, lower=True, check_finite=False)
    inverse = solve_triangular(lower, np.eye(len(inner)), lower=True).T.astype(image.dtype)
    return product(image, inverse)


def worthwhile(n: int, d: int) -> int:
    """How many directions pay for themselves: the more rows, the dearer a step, and the more are worth finding.

    Not a matter of how many problems there are, so that a problem goes the same way alone and among others.
    """
    # A multiple of the numbers in a vector, which products with few vectors like best.
    return min(n, d, MOST, max(32, (n // 28 + 8) // 16 * 16))
