"""Streaming moments are those of numpy, however the rows arrive."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ftt import processor
from ftt.errors import FttError
from ftt.freeze.moments import Moments
from ftt.freeze.pca import PCA

Array = NDArray[np.float64]

shapes = st.tuples(st.integers(2, 60), st.integers(1, 12))
offsets = st.sampled_from([0.0, 1.0, -1e3, 1e6])
scales = st.sampled_from([1e-3, 1.0, 1e3])
seeds = st.integers(0, 2**16)


def draw(shape: tuple[int, int], offset: float, scale: float, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(shape[1], shape[1]))
    return offset + scale * rng.normal(size=shape) @ mixing


def seen(X: NDArray[np.floating], cuts: list[int] | None = None) -> Moments:
    moments = Moments(X.shape[1])
    for part in np.split(X, sorted(cuts or [])):
        moments.add(part)
    return moments


def assert_same(moments: Moments, X: Array) -> None:
    assert moments.count == len(X)
    # numpy itself loses digits to a large offset, so it gets the rows without theirs.
    centred = X - X.mean(axis=0)
    spread = centred.std() + 1e-300
    wanted = np.atleast_2d(np.cov(centred, rowvar=False))
    np.testing.assert_allclose(moments.mean, X.mean(axis=0), atol=1e-9 * spread + 1e-15 * np.abs(X).max())
    np.testing.assert_allclose(moments.covariance(), wanted, atol=1e-8 * spread**2)


@given(shapes, offsets, scales, seeds, st.lists(st.integers(0, 60), max_size=5))
@settings(max_examples=60, deadline=None)
def test_moments_of_any_batches_are_those_of_numpy(
    shape: tuple[int, int], offset: float, scale: float, seed: int, cuts: list[int]
) -> None:
    X = draw(shape, offset, scale, seed)
    assert_same(seen(X, [min(c, len(X)) for c in cuts]), X)


@given(shapes, offsets, scales, seeds, st.lists(st.integers(0, 60), max_size=5))
@settings(max_examples=60, deadline=None)
def test_merging_any_split_gives_the_moments_of_all_rows(
    shape: tuple[int, int], offset: float, scale: float, seed: int, cuts: list[int]
) -> None:
    X = draw(shape, offset, scale, seed)
    parts = np.split(X, sorted(min(c, len(X)) for c in cuts))
    merged = Moments(shape[1])
    for part in reversed(parts):
        merged = merged.merge(seen(part))
    assert_same(merged, X)


@given(shapes, seeds, st.lists(st.integers(0, 60), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_cutting_into_batches_does_not_change_a_bit(shape: tuple[int, int], seed: int, cuts: list[int]) -> None:
    X = draw(shape, 1.0, 1.0, seed).astype(np.float32)
    whole, pieces = seen(X), seen(X, [min(c, len(X)) for c in cuts])
    np.testing.assert_array_equal(whole.covariance(), pieces.covariance())
    np.testing.assert_array_equal(whole.mean, pieces.mean)


@pytest.mark.parametrize("block", [1, 7, 64])
def test_many_blocks_give_the_moments_of_one(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    X = draw((500, 4), 1e6, 1.0, 0)
    monkeypatch.setattr("ftt.freeze.moments._BLOCK", 4 * block)
    assert_same(seen(X, [3, 11, 200]), X)


@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_single_precision_rows_are_squared_in_double_precision(offset: float) -> None:
    X = (draw((20_000, 30), 0.0, 1.0, 0) + offset).astype(np.float32)
    wanted = np.cov(X.astype(np.float64), rowvar=False)
    np.testing.assert_allclose(seen(X).covariance(), wanted, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_directions_of_tiny_variance_survive_single_precision_features(offset: float) -> None:
    """Singular values down to 1e-4 of the largest, then a gap: the kept subspace is that of an SVD to 1e-6 rad."""
    rng = np.random.default_rng(0)
    scale = np.r_[np.logspace(0, -4, 40), np.full(20, 3e-5)]
    left, right = (np.linalg.qr(rng.normal(size=(rows, 60)))[0] for rows in (1000, 60))
    X = (30 * left * scale @ right.T + offset * rng.normal(size=60)).astype(np.float32)
    wide = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    wanted = np.linalg.svd(wide, full_matrices=False)[2][:40].T
    kept = PCA().basis([X], 60).weight[:, :40]
    assert np.linalg.norm(kept - wanted @ (wanted.T @ kept), 2) < 1e-6
    single = PCA().basis([X], 60).first(40).weight.astype(np.float64)
    assert np.linalg.norm(single - wanted @ (wanted.T @ single), 2) < 1e-6


def test_rows_of_mixed_precision_are_taken_in_without_loss() -> None:
    X = draw((90, 5), 0.0, 1.0, 0)
    X[:30] = X[:30].astype(np.float32)
    moments = Moments(5)
    for part, dtype in ((X[:30], np.float32), (X[30:60], np.float64), (X[60:], np.float64)):
        moments.add(part.astype(dtype))
    assert_same(moments, X)


def test_squares_beyond_single_precision_are_summed_in_double() -> None:
    X = (draw((50, 3), 0.0, 1.0, 0) * 1e25).astype(np.float32)
    wanted = np.cov(X.astype(np.float64), rowvar=False)
    np.testing.assert_allclose(seen(X).covariance(), wanted, rtol=1e-5)


def test_a_constant_feature_has_no_variance() -> None:
    X = draw((50, 3), 0.0, 1.0, 0)
    X[:, 1] = 1e6 + 0.1
    assert np.abs(seen(X).covariance()[1]).max() < 1e-9


def test_moments_survive_storage() -> None:
    X = draw((50, 4), 5.0, 1.0, 0)
    back = Moments.from_arrays(seen(X[:20]).to_arrays())
    back.add(X[20:])
    assert_same(back, X)


def test_merging_leaves_both_as_they_were() -> None:
    X = draw((50, 4), 5.0, 1.0, 0)
    left, right = seen(X[:20]), seen(X[20:])
    left.merge(right).add(X)
    assert_same(left, X[:20])
    assert_same(right, X[20:])


def test_the_batch_that_was_given_is_not_written_to() -> None:
    X = draw((50, 4), 5.0, 1.0, 0)
    before = X.copy()
    seen(X).covariance()
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_refused_by_number(bad: float, dtype: type[np.floating]) -> None:
    X = draw((50, 4), 0.0, 1.0, 0).astype(dtype)
    X[31, 2] = bad
    with pytest.raises(FttError, match="NaN") as refusal:
        Moments(4).add(X)
    assert "row 31" in str(refusal.value)


def test_a_refused_batch_leaves_no_trace_when_it_fits_one_block() -> None:
    X = draw((50, 4), 0.0, 1.0, 0)
    moments = seen(X)
    with pytest.raises(FttError):
        moments.add(np.full((3, 4), np.nan))
    assert_same(moments, X)


@pytest.mark.parametrize("batch", [np.zeros((3, 5)), np.zeros(4), np.zeros((2, 3, 4))])
def test_a_batch_of_the_wrong_shape_is_refused(batch: Array) -> None:
    with pytest.raises(FttError, match="wrong shape"):
        Moments(4).add(batch)


def test_what_is_not_a_real_number_is_refused() -> None:
    with pytest.raises(FttError, match="real numbers"):
        Moments(2).add(np.ones((3, 2), dtype=complex))


def test_a_covariance_of_one_row_is_refused() -> None:
    with pytest.raises(FttError, match="at least two rows"):
        seen(np.ones((1, 3))).covariance()


def test_stored_moments_that_do_not_fit_together_are_refused() -> None:
    stored = seen(draw((9, 3), 0.0, 1.0, 0)).to_arrays()
    with pytest.raises(FttError, match="inconsistent shapes"):
        Moments.from_arrays({**stored, "total": np.zeros(2)})
    with pytest.raises(FttError, match="incomplete"):
        Moments.from_arrays({"shift": stored["shift"]})


@pytest.mark.parametrize("outruns", [True, False])
def test_by_a_kernel_or_by_blas_moments_are_the_same_to_rounding(
    outruns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = draw((700, 50), 1e3, 1.0, 0)
    monkeypatch.setattr(processor, "outruns_blas", lambda: outruns)
    assert_same(seen(X, [10, 300]), X)
    assert_same(seen(X[:400]).merge(seen(X[400:])), X)
    assert_same(Moments.from_arrays(seen(X).to_arrays()), X)
