"""The kernels for probing, on arrays: products of one long matrix with a few vectors.

Milliseconds for 3,000 × 1,280 numbers of float32 and three vectors (one thread, AMD EPYC of the fifth generation): 0.21
and 0.17, where oneDNN takes 0.48 and 0.24 and OpenBLAS 0.78 and 0.60. Reading the matrix alone takes 0.15. With half of
the rows it is 0.11 and 0.09.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ftt import compiled
from ftt.arrays import FloatArray, IntArray

PRECISIONS = {np.dtype(name): name for name in compiled.LANES}
"""By dtype: NumPy takes longer to name a dtype than to look one up."""

FEW = 4
"""Vectors that the kernels multiply at most."""

LINE = 64
"""Bytes of a line of the cache."""


def usable(X: FloatArray, vectors: FloatArray) -> bool:
    """Whether the kernels can multiply this matrix with these vectors."""
    return (
        len(vectors) <= FEW
        and X.dtype == vectors.dtype
        and X.dtype in PRECISIONS
        and X.flags.c_contiguous
        and compiled.library(PRECISIONS[X.dtype]) is not None
    )


class _Sizes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ("rows", "columns", "past", "vectors", "used")]


def scores(X: FloatArray, weights: FloatArray, rows: IntArray | None = None) -> FloatArray:
    """weights @ X.T of finite (n, d) X and (J, d) weights; 0 for rows that are not among these numbers, which rise."""
    (n, d), J, past = X.shape, len(weights), _past_line(X)
    wide = _wide(J, X)
    wide[:, past : past + d] = weights
    out = np.empty((J, n), dtype=X.dtype) if rows is None else np.zeros((J, n), dtype=X.dtype)
    compiled.run("scores", PRECISIONS[X.dtype], X, wide, out, rows, _sizes(X, past, J, rows))
    return out


def sums(shares: FloatArray, X: FloatArray, rows: IntArray | None = None) -> FloatArray:
    """shares @ X of (J, n) shares and finite (n, d) X, where only rows with these numbers, which rise, have a share."""
    d, J, past = X.shape[1], len(shares), _past_line(X)
    wide = _wide(J, X)
    compiled.run("sums", PRECISIONS[X.dtype], X, np.ascontiguousarray(shares), wide, rows, _sizes(X, past, J, rows))
    return wide[:, past : past + d]


def _sizes(X: FloatArray, past: int, J: int, rows: IntArray | None) -> _Sizes:
    return _Sizes(*X.shape, past, J, len(X) if rows is None else len(rows))


def _past_line(X: FloatArray) -> int:
    """By how many numbers every row begins past a line of the cache; 0 also where rows differ in this."""
    alike = X.shape[1] % compiled.LANES[PRECISIONS[X.dtype]] == 0 and len(X) > 1
    return X.ctypes.data % LINE // X.itemsize if alike else 0


def _wide(count: int, like: FloatArray) -> FloatArray:
    """Zeros for `count` vectors with a number for every column, and some to spare; from a line of the cache on."""
    size = like.shape[1] + compiled.LANES[PRECISIONS[like.dtype]]
    raw = np.zeros(count * size * like.itemsize + LINE, dtype=np.uint8)
    first = -raw.ctypes.data % LINE
    found: FloatArray = raw[first : first + count * size * like.itemsize].view(like.dtype).reshape(count, size)
    return found
