"""Squares by the kernel are those of NumPy, for every shape and number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ftt import compiled
from ftt.arrays import FloatArray
from ftt.compiled import squares

pytestmark = pytest.mark.skipif(compiled.library("float64") is None, reason="installed without a C compiler")


def added(rows: FloatArray, threads: int = 1) -> FloatArray:
    """The lower triangle after the squares were added to a matrix of ones."""
    sums = np.ones((rows.shape[1], rows.shape[1]), order="F")
    squares.add_squares(sums, rows, threads)
    return np.tril(sums)


@given(
    n=st.sampled_from([1, 2, 37, squares.HEIGHT, squares.HEIGHT + 1]),
    d=st.integers(1, 120),
    threads=st.integers(1, 4),
)
@settings(max_examples=150, deadline=None)
def test_squares_are_those_of_numpy(n: int, d: int, threads: int) -> None:
    rows = np.random.default_rng(0).normal(size=(n, d))
    found = added(rows, threads)
    np.testing.assert_allclose(found, np.tril(rows.T @ rows + 1), rtol=1e-12, atol=1e-12 * n)
    assert np.array_equal(found, added(rows)), "threads change no bit"


def test_other_rows_are_left_to_blas() -> None:
    rows = np.zeros((8, 16))
    assert squares.usable(rows)
    assert not squares.usable(rows.astype(np.float32))
    assert not squares.usable(rows.T)


@pytest.mark.usefixtures("without_kernels")
def test_without_a_compiler_all_are_left_to_blas() -> None:
    assert not squares.usable(np.zeros((8, 16)))
