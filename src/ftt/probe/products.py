"""Products of one long matrix with a few vectors, in pieces that BLAS multiplies without copying them first.

BLAS rearranges a matrix before it multiplies. For hundreds of vectors that is nothing; for three it takes most of the
time. Small products are spared it (OpenBLAS does so where processors have AVX-512), so that a piece of the matrix is
read from memory once and from the cache afterwards.
"""

from __future__ import annotations

import numpy as np

from ftt.arrays import FloatArray

_SMALL = 10**6
"""Multiplications up to which OpenBLAS takes a product as small."""

_LEAST_ROWS, _MOST_ROWS = 24, 64
"""Rows of a piece below which pieces cost more than they save, and above which they no longer fit into the cache."""


def rows_times(X: FloatArray, columns: FloatArray) -> FloatArray:
    """X @ columns.

    Parameters
    ----------
    X : array (n, d)
    columns : array (d, J)
    """
    (n, d), J = X.shape, columns.shape[1]
    height = _height(n, d, J)
    if not height:
        whole: FloatArray = X @ columns
        return whole
    columns = _widened(columns.T).T
    product = np.empty((n, columns.shape[1]), dtype=X.dtype)
    even = n - n % height
    np.matmul(X[:even].reshape(-1, height, d), columns, out=product[:even].reshape(-1, height, columns.shape[1]))
    np.matmul(X[even:], columns, out=product[even:])
    return product[:, :J]


def times_rows(rows: FloatArray, X: FloatArray) -> FloatArray:
    """rows @ X.

    Parameters
    ----------
    rows : array (J, n)
    X : array (n, d)
    """
    J, (n, d) = len(rows), X.shape
    height = _height(n, d, J)
    if not height:
        whole: FloatArray = rows @ X
        return whole
    rows = _widened(rows)
    even = n - n % height
    pieces = np.ascontiguousarray(rows[:, :even].reshape(len(rows), -1, height).swapaxes(0, 1))
    product: FloatArray = (pieces @ X[:even].reshape(-1, height, d)).sum(axis=0)
    product += rows[:, even:] @ X[even:]
    return product[:J]


def _height(n: int, d: int, J: int) -> int:
    """Rows of a piece; 0 where one product of the whole is better."""
    height = min(_MOST_ROWS, _SMALL // (d * J))
    return height if J > 1 and n * d * J > _SMALL and height >= _LEAST_ROWS else 0


def _widened(rows: FloatArray) -> FloatArray:
    """With a row of zeros where that makes products faster: four are multiplied sooner than three."""
    if len(rows) % 4 != 3:
        return rows
    wide = np.zeros((len(rows) + 1, rows.shape[1]), dtype=rows.dtype)
    wide[:-1] = rows
    return wide
