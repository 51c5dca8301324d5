"""Principal directions from moments: one decomposition, of which every smaller number of directions is a prefix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigh_tridiagonal
from scipy.linalg.lapack import dormqr, dsytrd, dsytrd_lwork

from ftt.errors import FttError
from ftt.freeze.moments import Moments

_FEW = 0.5
"""Share of the directions up to which computing some is faster than LAPACK's `evd` for all."""


def principal(moments: Moments, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """The k directions of largest variance.

    Parameters
    ----------
    moments : Moments
        Of at least two rows.
    k : int
        1 ≤ k ≤ d.

    Returns
    -------
    components : array (k, d)
        Orthonormal rows, largest variance first; the entry of largest magnitude in each is positive, so that signs
        do not depend on LAPACK.
    eigenvalues : array (k,)
        Variances along them.
    total_variance : float
        Sum over all d directions.

    Examples
    --------
    >>> seen = Moments(2)
    >>> seen.add(np.array([[0.0, 0.0], [4.0, 0.0], [2.0, -1.0], [2.0, 1.0]]))
    >>> components, eigenvalues, total = principal(seen, 1)
    >>> components.round(6).tolist(), (eigenvalues / total).round(6).tolist()
    ([[1.0, 0.0]], [0.8])
    """
    d = moments.dim
    if not 1 <= k <= d:
        raise FttError("there are not that many directions", given=k, allowed=f"1 <= k <= {d}")
    covariance = moments.lower_covariance()
    total = float(np.trace(covariance))
    if k <= _FEW * d:
        values, vectors = _leading(covariance, k)
    else:
        values, vectors = eigh(covariance, driver="evd", overwrite_a=True, check_finite=False)
    values, components = values[::-1][:k], vectors.T[::-1][:k]
    largest = np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, None], axis=1)
    # Variances cannot be negative; rounding can make those of empty directions so.
    return components * np.where(largest < 0, -1.0, 1.0), np.maximum(values, 0), total


def _leading(lower: NDArray[np.float64], k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The k largest eigenvalues, ascending, and their eigenvectors as columns; `lower` is overwritten.

    The three steps of LAPACK's `evr`: reduce to tridiagonal form, solve that, turn back. Taken one by one because
    `evr` falls back to bisection when asked for some eigenvectors, which is slower than all of `evd` from a quarter of
    them on.
    """
    d = len(lower)
    if d < 3:
        values, vectors = eigh(lower, check_finite=False)
        return values[d - k :], vectors[:, d - k :]
    work, _ = dsytrd_lwork(d, lower=1)
    reflectors, diagonal, beside, scales, _ = dsytrd(lower, lower=1, lwork=int(work), overwrite_a=1)
    values, vectors = eigh_tridiagonal(
        diagonal, beside, select="i", select_range=(d - k, d - 1), lapack_driver="stemr", check_finite=False
    )
    # The first row and column are not touched by the reduction.
    vectors = np.asfortranarray(vectors)
    turned, _, _ = dormqr("L", "N", reflectors[1:, :-1], scales, vectors[1:], lwork=64 * d)
    vectors[1:] = turned
    return values, vectors
