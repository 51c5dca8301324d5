"""Principal directions from moments are those of a full decomposition."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from ftt.freeze.eigen import principal
from ftt.freeze.moments import Moments


def seen(X: NDArray[np.floating]) -> Moments:
    moments = Moments(X.shape[1])
    moments.add(X)
    return moments


def relu_features(n: int, d: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1) ** -0.8 @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    features: NDArray[np.float32] = np.maximum(X / X.std() + 0.3 * rng.normal(size=d), 0).astype(np.float32)
    return features


@pytest.mark.parametrize("d", [1, 2, 3, 4, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_directions_and_variances_are_those_of_scikit_learn(d: int, dtype: type[np.floating]) -> None:
    X = relu_features(300, d).astype(dtype)
    oracle = PCA(svd_solver="full").fit(X.astype(np.float64))
    components, eigenvalues, total = principal(seen(X))
    assert components.shape == (d, d)
    np.testing.assert_allclose(eigenvalues, oracle.explained_variance_, rtol=1e-4)
    np.testing.assert_allclose(eigenvalues / total, oracle.explained_variance_ratio_, rtol=1e-4)
    agreement = np.abs(np.sum(components * oracle.components_, axis=1))
    np.testing.assert_allclose(agreement, 1, atol=1e-5)


def test_directions_are_orthonormal_when_rows_are_fewer_than_features() -> None:
    components, eigenvalues, _ = principal(seen(relu_features(8, 60)))
    np.testing.assert_allclose(components @ components.T, np.eye(60), atol=1e-10)
    assert (eigenvalues >= 0).all()
    np.testing.assert_allclose(eigenvalues[7:], 0, atol=1e-5 * eigenvalues[0])


def test_the_largest_entry_of_a_direction_is_positive() -> None:
    X = relu_features(300, 40)
    for sign in (1, -1):
        components = principal(seen(sign * X))[0]
        assert (components[np.arange(40), np.abs(components).argmax(axis=1)] > 0).all()


def test_features_without_variance_still_have_directions() -> None:
    components, eigenvalues, total = principal(seen(np.ones((9, 6))))
    np.testing.assert_allclose(components @ components.T, np.eye(6), atol=1e-12)
    assert eigenvalues.tolist() == [0] * 6
    assert total == 0


def test_moments_are_not_used_up() -> None:
    moments = seen(relu_features(300, 12))
    first, second = principal(moments)[0], principal(moments)[0]
    np.testing.assert_array_equal(first, second)


@pytest.mark.slow
def test_single_precision_moments_span_the_subspace_of_double_precision() -> None:
    X = relu_features(20_000, 1024)
    found = principal(seen(X))[0][:256]
    wanted = principal(seen(X.astype(np.float64)))[0][:256]
    assert np.linalg.svd(found @ wanted.T, compute_uv=False).min() > 0.9999
