"""The kernels for probing, on arrays: products of one long matrix with a few vectors."""

from __future__ import annotations

import ctypes

import numpy as np

from ftt import compiled
from ftt.arrays import FloatArray

FEW = 8
"""Vectors up to which the kernels are faster than BLAS."""


def usable(X: FloatArray, vectors: FloatArray) -> bool:
    """Whether the kernels can multiply this matrix with these vectors."""
    return (
        len(vectors) <= FEW
        and X.dtype == vectors.dtype
        and X.dtype.name in compiled.LANES
        and X.flags.c_contiguous
        and vectors.flags.c_contiguous
        and compiled.library(X.dtype.name) is not None
    )


class _Sizes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ("rows", "columns", "vectors")]


def scores(X: FloatArray, weights: FloatArray) -> FloatArray:
    """weights @ X.T of (n, d) X and (J, d) weights."""
    out: FloatArray = np.empty((len(weights), len(X)), dtype=X.dtype)
    _run("scores", X, weights, out)
    return out


def sums(rows: FloatArray, X: FloatArray) -> FloatArray:
    """rows @ X of (J, n) rows and (n, d) X."""
    out: FloatArray = np.zeros((len(rows), X.shape[1]), dtype=X.dtype)
    _run("sums", X, rows, out)
    return out


def _run(kernel: str, X: FloatArray, vectors: FloatArray, out: FloatArray) -> None:
    compiled.run(kernel, X.dtype.name, X, vectors, out, _Sizes(*X.shape, len(vectors)))
