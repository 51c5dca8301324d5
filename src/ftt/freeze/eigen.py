"""Principal directions from moments: one decomposition, of which every smaller number of directions is a prefix.

All directions are computed: on 5,000 rows of 1,280 features a quarter of them would take 0.24 s in place of 0.35 s,
but all of them, stored once, serve every p.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from ftt.freeze.moments import Moments


def principal(moments: Moments) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """All directions, largest variance first.

    Parameters
    ----------
    moments : Moments
        Of at least two rows.

    Returns
    -------
    components : array (d, d)
        Orthonormal rows; the entry of largest magnitude in each is positive, so that signs do not depend on LAPACK.
    eigenvalues : array (d,)
        Variances along them.
    total_variance : float
        Sum of the variances of the features.

    Examples
    --------
    >>> seen = Moments(2)
    >>> seen.add(np.array([[0.0, 0.0], [4.0, 0.0], [2.0, -1.0], [2.0, 1.0]]))
    >>> components, eigenvalues, total = principal(seen)
    >>> components[0].round(6).tolist(), (eigenvalues / total).round(6).tolist()
    ([1.0, 0.0], [0.8, 0.2])
    """
    covariance = moments.lower_covariance()
    total = float(np.trace(covariance))
    values, vectors = eigh(covariance, driver="evd", overwrite_a=True, check_finite=False)
    components = vectors.T[::-1]
    largest = np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, None], axis=1)
    # Variances cannot be negative; rounding can make those of empty directions so.
    return components * np.where(largest < 0, -1.0, 1.0), np.maximum(values[::-1], 0), total
