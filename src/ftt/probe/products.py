"""Products of one long matrix with a few vectors, in pieces that BLAS multiplies without copying them first.

BLAS rearranges a matrix before it multiplies. For hundreds of vectors that is nothing; for three it takes most of the
time. Small products are spared it (OpenBLAS does so where processors have AVX-512), and single vectors everywhere.
"""

from __future__ import annotations

import numpy as np

from ftt.arrays import FloatArray

_SMALL = 10**6
"""Multiplications up to which OpenBLAS takes a product as small."""

_LEAST_ROWS = 24
"""Rows of a piece below which pieces cost more than they save."""

_FEW = 5
"""Vectors that are multiplied one by one in single precision; more of them are faster together."""


def rows_times(X: FloatArray, columns: FloatArray) -> FloatArray:
    """X @ columns.

    Parameters
    ----------
    X : array (n, d)
    columns : array (d, J)
    """
    (n, d), J = X.shape, columns.shape[1]
    height = _SMALL // (d * J)
    if height < _LEAST_ROWS or height >= n:
        whole: FloatArray = X @ columns
        return whole
    product = np.empty((n, J), dtype=X.dtype)
    even = n - n % height
    np.matmul(X[:even].reshape(-1, height, d), columns, out=product[:even].reshape(-1, height, J))
    np.matmul(X[even:], columns, out=product[even:])
    return product


def times_rows(rows: FloatArray, X: FloatArray) -> FloatArray:
    """rows @ X.

    Parameters
    ----------
    rows : array (J, n)
    X : array (n, d)
    """
    if X.dtype == np.float32 and len(rows) <= _FEW:
        one_by_one: FloatArray = (rows[:, None, :] @ X)[:, 0]
        return one_by_one
    together: FloatArray = rows @ X
    return together
