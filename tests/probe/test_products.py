"""Products in pieces are the products, and features are read as they were given where that is precise enough."""

from __future__ import annotations

import numpy as np
import pytest

from ftt import onednn
from ftt.probe.logistic import fit_many
from ftt.probe.products import product, scores_of, times_rows
from ftt.probe.survey import survey


@pytest.mark.parametrize("n", [3, 64, 700, 1201])
@pytest.mark.parametrize("J", [1, 2, 3, 4, 7, 11, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("by_onednn", [False, True])
def test_pieces_give_the_product_of_the_whole(
    n: int, J: int, dtype: type[np.floating], by_onednn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onednn, "preferred", lambda: by_onednn)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 900)).astype(dtype)
    weights, rows = rng.normal(size=(J, 900)).astype(dtype), rng.normal(size=(J, n)).astype(dtype)
    rounding = 1e4 * float(np.finfo(dtype).eps)
    scores = scores_of(X, weights)
    assert scores.flags.c_contiguous
    np.testing.assert_allclose(scores, weights.astype(float) @ X.T, rtol=0, atol=rounding)
    np.testing.assert_allclose(product(X, weights.T), X.astype(float) @ weights.T, rtol=0, atol=rounding)
    np.testing.assert_allclose(times_rows(rows, X), rows.astype(float) @ X, rtol=0, atol=rounding)


def test_rows_with_gaps_between_them_are_multiplied_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onednn, "preferred", lambda: True)
    rng = np.random.default_rng(0)
    X, weights = (rng.normal(size=size).astype(np.float32) for size in ((900, 700), (5, 700)))
    some = X[::3]
    np.testing.assert_allclose(product(weights, some.T), weights @ some.T, rtol=0, atol=1e-3)


def test_features_that_may_not_be_written_to_are_left_to_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onednn, "preferred", lambda: True)
    monkeypatch.setattr(onednn, "multiply", lambda *_: pytest.fail("handed to torch"))
    X, rows = np.ones((1000, 900), dtype=np.float32), np.ones((2, 1000), dtype=np.float32)
    X.flags.writeable = False
    assert (times_rows(rows, X) == 1000).all()


@pytest.mark.parametrize(("offset", "centred"), [(0.5, False), (50.0, True)])
def test_a_copy_without_the_mean_is_made_where_the_mean_is_large_and_the_solution_is_the_same(
    offset: float, centred: bool
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    given = (X + offset).astype(np.float32)
    shared = survey(given)
    assert shared.centred is centred
    assert np.shares_memory(shared.single_rows, given) is not centred
    found, exact = (fit_many(x, y, [np.arange(300)], [1.0], tol=tol) for x, tol in ((given, 1e-5), (X, 1e-9)))
    np.testing.assert_allclose(found.coef, exact.coef, atol=1e-4)
