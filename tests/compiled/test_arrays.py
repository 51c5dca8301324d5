"""The kernels for probing multiply as NumPy does, wherever an array begins and however it is shaped."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ftt import compiled
from ftt.arrays import FloatArray
from ftt.compiled import arrays

pytestmark = pytest.mark.skipif(compiled.library("float64") is None, reason="installed without a C compiler")


def beginning(past: int, values: FloatArray) -> FloatArray:
    """A copy that begins some numbers past a line of the cache, with rubbish before and after it."""
    raw = np.full(values.size + 64, np.nan, dtype=values.dtype)
    first = -raw.ctypes.data % arrays.LINE // values.itemsize + past
    found: FloatArray = raw[first : first + values.size].reshape(values.shape)
    found[...] = values
    return found


@given(
    shape=st.tuples(st.integers(1, 40), st.sampled_from([1, 7, 8, 16, 33, 48, 112, 128])),
    count=st.integers(1, arrays.FEW),
    past=st.integers(0, 15),
    double=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_products_are_those_of_numpy(shape: tuple[int, int], count: int, past: int, double: bool) -> None:
    rng, dtype = np.random.default_rng(0), np.float64 if double else np.float32
    exact = rng.normal(size=shape)
    X = beginning(past, exact.astype(dtype))
    weights, rows = rng.normal(size=(count, shape[1])), rng.normal(size=(count, shape[0]))
    close = 1e-12 if double else 1e-5
    assert arrays.usable(X, weights.astype(dtype))
    np.testing.assert_allclose(arrays.scores(X, weights.astype(dtype)), weights @ exact.T, close, close)
    np.testing.assert_allclose(arrays.sums(rows.astype(dtype), X), rows @ exact, close, close)


@pytest.mark.parametrize("d", [16, 48, 50])
@pytest.mark.parametrize("n", [1, 2, 3, 21])
def test_where_an_array_begins_and_how_many_vectors_there_are_changes_no_bit(n: int, d: int) -> None:
    rng = np.random.default_rng(0)
    values, weights, rows = (rng.normal(size=size).astype(np.float32) for size in ((n, d), (4, d), (4, n)))
    first = beginning(0, values)
    for past in range(16):
        X = beginning(past, values)
        for count in range(1, 5):
            assert np.array_equal(arrays.scores(X, weights[:count]), arrays.scores(first, weights)[:count])
            assert np.array_equal(arrays.sums(rows[:count], X), arrays.sums(rows, first)[:count])


@given(
    shape=st.tuples(st.integers(1, 60), st.sampled_from([7, 16, 48])),
    count=st.integers(1, arrays.FEW),
    past=st.integers(0, 15),
    share=st.floats(0, 1),
)
@settings(max_examples=200, deadline=None)
def test_rows_that_are_left_out_change_no_bit_of_the_others(
    shape: tuple[int, int], count: int, past: int, share: float
) -> None:
    rng = np.random.default_rng(0)
    X = beginning(past, rng.normal(size=shape).astype(np.float32))
    used = np.flatnonzero(rng.random(len(X)) < share)
    weights, shares = (rng.normal(size=(count, size)).astype(np.float32) for size in reversed(shape))
    found, outside = arrays.scores(X, weights, used), np.delete(np.arange(len(X)), used)
    assert np.array_equal(found[:, used], arrays.scores(X, weights)[:, used])
    assert not found[:, outside].any()
    shares[:, outside] = 0
    assert np.array_equal(arrays.sums(shares, X, used), arrays.sums(shares, X))


def test_vectors_need_not_be_contiguous() -> None:
    X, two = np.random.default_rng(0).normal(size=(9, 16)), np.random.default_rng(1).normal(size=(16, 2))
    np.testing.assert_allclose(arrays.scores(X, two.T), two.T @ X.T)
    np.testing.assert_allclose(arrays.sums(two[:9].T, X), two[:9].T @ X)


def test_other_matrices_are_left_to_others() -> None:
    X, one = np.zeros((8, 16)), np.zeros((1, 16))
    assert arrays.usable(X, one)
    assert not arrays.usable(X, np.zeros((arrays.FEW + 1, 16)))
    assert not arrays.usable(X, one.astype(np.float32))
    assert not arrays.usable(X.T, np.zeros((1, 8)))
    assert not arrays.usable(X.astype(np.float16), one.astype(np.float16))


@pytest.mark.usefixtures("without_kernels")
def test_without_a_compiler_they_are_left_to_others_too() -> None:
    assert not arrays.usable(np.zeros((8, 16)), np.zeros((1, 16)))
