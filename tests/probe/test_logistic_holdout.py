"""A fit never sees rows that are not its own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ftt.probe.logistic import fit_many
from ftt.threads import limited_to


def draw(n: int, d: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = np.maximum(rng.normal(size=(n, d)) * np.arange(1, d + 1) ** -0.5 + 0.3, 0).astype(np.float32)
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0.5).astype(np.int64)


@pytest.mark.parametrize("junk", [1e6, np.nan, np.inf])
def test_rows_of_no_problem_change_nothing_bit_for_bit(junk: float) -> None:
    X, y = draw(300, 60)
    rows = [np.arange(0, 200, 2), np.arange(50, 200)]
    before = fit_many(X, y, rows, [1.0, 0.1])
    X[200:], y[200:] = junk, -7
    after = fit_many(X, y, rows, [1.0, 0.1])
    np.testing.assert_array_equal(before.coef, after.coef)
    np.testing.assert_array_equal(before.intercept, after.intercept)


@pytest.mark.parametrize("C", [10.0, 1.0, 0.01])
@pytest.mark.parametrize("d", [20, 400])
def test_rows_of_other_problems_do_not_move_the_solution(C: float, d: int) -> None:
    X, y = draw(300, d)
    own, other = np.arange(150), np.arange(150, 300)
    alone = fit_many(X, y, [own], [C], tol=1e-8)
    X[150:], y[150:] = 5 * X[150:][::-1] - 3, 1 - y[150:]
    beside = fit_many(X, y, [own, other], [C, C], tol=1e-8)
    assert np.linalg.norm(beside.coef[0] - alone.coef[0]) < 1e-4 * np.linalg.norm(alone.coef[0])
    assert beside.gradient[0] <= 1e-8


def test_order_of_problems_does_not_matter_beyond_the_tolerance() -> None:
    X, y = draw(300, 60)
    rows, C = [np.arange(150), np.arange(100, 300), np.arange(0, 300, 2)], [1.0, 0.1, 5.0]
    forward = fit_many(X, y, rows, C, tol=1e-8)
    backward = fit_many(X, y, rows[::-1], C[::-1], tol=1e-8)
    np.testing.assert_allclose(forward.coef, backward.coef[::-1], atol=1e-5)


def test_order_of_rows_does_not_matter() -> None:
    X, y = draw(300, 60)
    rows = np.random.default_rng(0).permutation(300)[:150]
    one, two = (fit_many(X, y, [r], [1.0]) for r in (rows, np.sort(rows)))
    np.testing.assert_array_equal(one.coef, two.coef)


def test_number_of_threads_changes_nothing() -> None:
    X, y = draw(300, 200)
    fits = []
    for count in (1, 2):
        with limited_to(count):
            fits.append(fit_many(X, y, [np.arange(200), np.arange(100, 300)], [1.0, 0.1]))
    np.testing.assert_array_equal(fits[0].coef, fits[1].coef)
