"""Products of one long matrix with a few vectors, in pieces that BLAS multiplies without copying them first.

BLAS rearranges a matrix before it multiplies. For hundreds of vectors that is nothing; for three it takes most of the
time. Small products are spared it (OpenBLAS does so where it uses AVX-512), so that a piece of the matrix is read from
memory once and from the cache afterwards. Where BLAS runs at half the processor's speed, oneDNN multiplies the whole
(`ftt.onednn`): 3,000 × 1,280 features with three vectors in 0.41 and 0.27 ms in place of 0.78 and 0.60.
"""

from __future__ import annotations

import numpy as np

from ftt import onednn
from ftt.arrays import FloatArray, IntArray
from ftt.compiled import arrays

_SMALL = 10**6
"""Multiplications up to which OpenBLAS takes a product as small."""

_FEW = 12
"""Vectors up to which oneDNN had better take the matrix for the second factor."""

_LEAST_ROWS, _MOST_ROWS = 24, 64
"""Rows of a piece below which pieces cost more than they save, and above which they no longer fit into the cache."""


def scores_of(X: FloatArray, weights: FloatArray, used: IntArray | None = None) -> FloatArray:
    """weights @ X.T, (J, n).

    Parameters
    ----------
    X : array (n, d)
    weights : array (J, d)
    used : array, optional
        Rising numbers of the rows whose scores are wanted; the others may be anything finite.
    """
    (n, d), J = X.shape, len(weights)
    if arrays.usable(X, weights):
        return arrays.scores(X, weights, used)
    if _by_onednn(X, weights):
        if J <= _FEW:
            return onednn.multiply(weights, X)
        return np.ascontiguousarray(onednn.multiply(X, weights).T)
    height = _height(n, d, J)
    columns = np.ascontiguousarray(weights.T)
    if not height:
        return np.ascontiguousarray((X @ columns).T)
    columns = _widened(columns.T).T
    product = np.empty((n, columns.shape[1]), dtype=X.dtype)
    even = n - n % height
    np.matmul(X[:even].reshape(-1, height, d), columns, out=product[:even].reshape(-1, height, columns.shape[1]))
    np.matmul(X[even:], columns, out=product[even:])
    return np.ascontiguousarray(product[:, :J].T)


def times_rows(rows: FloatArray, X: FloatArray, used: IntArray | None = None) -> FloatArray:
    """rows @ X.

    Parameters
    ----------
    rows : array (J, n)
    X : array (n, d)
    used : array, optional
        Rising numbers of the rows of X outside of which `rows` are zero.
    """
    J, (n, d) = len(rows), X.shape
    if arrays.usable(X, rows):
        return arrays.sums(rows, X, used)
    if _by_onednn(X, rows):
        return onednn.multiply(rows, X.T)
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


def product(a: FloatArray, b: FloatArray) -> FloatArray:
    """a @ b of two matrices of which neither is small."""
    found: FloatArray = onednn.multiply(a, b.T) if _by_onednn(b, a) else a @ b
    return found


def _by_onednn(X: FloatArray, vectors: FloatArray) -> bool:
    single = X.dtype == vectors.dtype == np.float32
    return single and _is_large(X, vectors) and X.flags.writeable and vectors.flags.writeable and onednn.preferred()


def _is_large(X: FloatArray, vectors: FloatArray) -> bool:
    # One vector is multiplied as fast by anybody.
    return len(vectors) > 1 and X.size * len(vectors) > _SMALL


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
