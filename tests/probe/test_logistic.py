"""The batched solver finds what scikit-learn finds, and refuses what has no answer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from ftt.errors import FttError
from ftt.probe.logistic import Fits, fit_many
from ftt.probe.problems import check_problems, mean_gradient
from ftt.probe.reference import fit_one_by_one
from ftt.probe.survey import survey

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Rows = list[NDArray[np.intp]]

C_GRID = [10.0, 1.0, 0.1, 0.01]
TIGHT = 1e-8


def draw(n: int, d: int, classes: int = 2, *, noise: float = 1.0, seed: int = 0) -> tuple[Array, Labels]:
    """Features with a falling spectrum and an offset, labels from a noisy linear teacher."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1) ** -0.5 + rng.uniform(0, 2, size=d)
    teacher = X[:, :classes] - X[:, :classes].mean(axis=0) + noise * rng.normal(size=(n, classes))
    y = teacher.argmax(axis=1)
    y[:classes] = np.arange(classes)
    return X, y


def case(name: str) -> tuple[Array, Labels]:
    if name == "separable":
        return draw(120, 20, noise=0.0)
    if name == "collinear":
        X, y = draw(150, 6)
        return np.hstack([X, X, X[:, :3] @ np.ones((3, 2))]), y
    if name == "unbalanced":
        X, _ = draw(600, 15)
        return X, (X[:, 0] > np.quantile(X[:, 0], 0.97)).astype(int)
    if name == "constant feature":
        X, y = draw(150, 8)
        X[:, 3] = 7.0
        return X, y
    if name == "large offset":
        X, y = draw(150, 8)
        return X + 1e4, y
    sizes = {"n > d": (400, 12, 2), "n < d": (60, 150, 2), "multiclass": (300, 12, 5), "multiclass, n < d": (60, 90, 3)}
    return draw(*sizes[name])


CASES = [
    "n > d",
    "n < d",
    "separable",
    "collinear",
    "unbalanced",
    "constant feature",
    "large offset",
    "multiclass",
    "multiclass, n < d",
]


def halves(y: Labels, count: int, *, seed: int = 1) -> Rows:
    """Random halves that hold every class; the last one draws with replacement, so that rows repeat."""
    rng, n = np.random.default_rng(seed), len(y)
    first = np.array([np.flatnonzero(y == k)[0] for k in np.unique(y)])
    drawn = [rng.choice(n, n // 2, replace=j == count - 1) for j in range(count)]
    return [np.concatenate([first, part]) for part in drawn]


def exact(X: Array, y: Labels, C: float) -> tuple[Array, Array]:
    """scikit-learn's second-order solver in float64, run until it cannot improve.

    It meets the features without their mean, which changes the intercept only: with a large offset it gives up.
    """
    centre = X.mean(axis=0, dtype=np.float64)
    model = LogisticRegression(C=C, tol=1e-12, max_iter=500, solver="newton-cholesky").fit(X - centre, y)
    return model.coef_, model.intercept_ - model.coef_ @ centre


def distance(found: Array, wanted: Array) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_weights_and_predictions_are_those_of_scikit_learn(name: str, dtype: type[np.floating]) -> None:
    X, y = case(name)
    X = X.astype(dtype)
    rows = halves(y, len(C_GRID))
    fits = fit_many(X, y, rows, C_GRID, tol=TIGHT)
    assert fits.converged.all()
    for j, (subset, C) in enumerate(zip(rows, C_GRID, strict=True)):
        coef, intercept = exact(X[subset], y[subset], C)
        assert distance(fits.coef[j], coef) < 1e-3
        scores, wanted = (X @ w.T + b for w, b in ((fits.coef[j], fits.intercept[j]), (coef, intercept)))
        clear = np.abs(wanted).max(axis=1) > 1e-3
        same = scores > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        truth = wanted > 0 if scores.shape[1] == 1 else wanted.argmax(axis=1)
        np.testing.assert_array_equal(same[clear], truth[clear])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_default_tolerance_bounds_the_true_gradient(name: str, dtype: type[np.floating]) -> None:
    X, y = case(name)
    X = X.astype(dtype)
    rows = halves(y, len(C_GRID))
    fits = fit_many(X, y, rows, C_GRID)
    problems = check_problems(X, y, rows, C_GRID, None)
    recomputed = [mean_gradient(problems, j, fits.coef[j], fits.intercept[j]) for j in range(len(rows))]
    np.testing.assert_allclose(fits.gradient, recomputed, rtol=1e-6, atol=survey(X).reach)
    assert max(recomputed) <= 1e-4


def test_mean_gradient_is_the_slope_of_the_mean_objective() -> None:
    X, y = draw(40, 3, classes=3)
    rows, C, h = [np.arange(40)], [0.5], 1e-6
    problems = check_problems(X, y, rows, C, None)
    rng = np.random.default_rng(0)
    coef, intercept = rng.normal(size=(3, 3)), rng.normal(size=3)

    def objective(w: Array, b: Array) -> float:
        scores = X @ w.T + b
        loss = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(40), y]
        return float(loss.mean() + (w**2).sum() / (2 * C[0] * 40))

    slopes = []
    for k in range(3):
        for i in range(3):
            move = np.zeros((3, 3))
            move[k, i] = h
            slopes.append((objective(coef + move, intercept) - objective(coef - move, intercept)) / (2 * h))
        push = np.eye(3)[k] * h
        slopes.append((objective(coef, intercept + push) - objective(coef, intercept - push)) / (2 * h))
    assert mean_gradient(problems, 0, coef, intercept) == pytest.approx(np.abs(slopes).max(), rel=1e-5)


def test_features_of_very_unequal_scale_converge() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10)) * 10.0 ** np.arange(-4, 6)
    y = (X[:, 4] + rng.normal(size=300) > 0).astype(int)
    fits = fit_many(X, y, [np.arange(300)], [1.0], tol=TIGHT)
    assert fits.converged.all()
    assert distance(fits.coef[0], exact(X, y, 1.0)[0]) < 1e-3


def test_numbers_too_large_for_single_precision_are_fitted_in_double() -> None:
    X, y = draw(80, 5)
    fits = fit_many(X * 1e25, y, [np.arange(80)], [1e-50], tol=1e18)
    assert fits.converged.all()
    assert distance(fits.coef[0] * 1e25, exact(X, y, 1.0)[0]) < 1e-3


def test_a_repeated_row_weighs_twice() -> None:
    X, y = draw(100, 5)
    subset = np.concatenate([np.arange(100), np.arange(30)])
    fits = fit_many(X, y, [subset], [0.5], tol=TIGHT)
    assert distance(fits.coef[0], exact(X[subset], y[subset], 0.5)[0]) < 1e-6


def test_the_weight_of_a_constant_feature_is_zero() -> None:
    X, y = case("constant feature")
    fits = fit_many(X, y, [np.arange(len(y))], [1.0], tol=TIGHT)
    assert abs(fits.coef[0, 0, 3]) < 1e-6


def test_loop_over_scikit_learn_agrees() -> None:
    X, y = draw(120, 10)
    rows = halves(y, 4)
    fast, slow = (fit(X, y, rows, C_GRID, tol=1e-7) for fit in (fit_many, fit_one_by_one))
    assert slow.gradient.max() < 1e-5
    np.testing.assert_allclose(fast.coef, slow.coef, atol=1e-3)


def test_two_calls_give_the_same_bits() -> None:
    X, y = draw(200, 40)
    one, two = (fit_many(X, y, halves(y, 4), C_GRID) for _ in range(2))
    np.testing.assert_array_equal(one.coef, two.coef)


def test_several_batches_give_the_solution_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = draw(200, 40)
    whole = fit_many(X, y, halves(y, 4), C_GRID, tol=TIGHT)
    monkeypatch.setattr("ftt.probe.logistic._BUDGET", 1)
    np.testing.assert_allclose(fit_many(X, y, halves(y, 4), C_GRID, tol=TIGHT).coef, whole.coef, atol=1e-5)


def test_problems_that_ran_out_of_iterations_are_marked() -> None:
    X, y = draw(200, 40)
    fits = fit_many(X, y, [np.arange(200), np.arange(200)], [1e6, 1e-6], max_iter=2)
    assert fits.converged.tolist() == [False, True]
    assert fits.gradient[0] > 1e-4


def test_l1_leaves_weights_at_exactly_zero() -> None:
    X, y = draw(200, 30)
    fits = fit_one_by_one(X, y, [np.arange(200)], [0.05], penalty="l1")
    assert 0 < np.count_nonzero(fits.coef) < 30
    assert fits.converged.all()


def test_class_weights_shift_the_intercept_towards_the_heavier_class() -> None:
    X, y = draw(200, 5)
    plain, heavy = (fit_one_by_one(X, y, [np.arange(200)], [1.0], class_weight=w) for w in (None, {0: 1.0, 1: 9.0}))
    predict = [float((X @ f.coef[0, 0] + f.intercept[0] > 0).mean()) for f in (plain, heavy)]
    assert predict[1] > predict[0]


def fit(X: object, y: object, rows: object, C: object = (1.0,), **options: object) -> Fits:
    return fit_many(X, y, rows, C, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("solver", [fit_many, fit_one_by_one])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_features_that_are_not_finite_are_refused_by_row(solver: object, bad: float) -> None:
    X, y = draw(50, 4)
    X[17, 2] = bad
    with pytest.raises(FttError, match="NaN") as refusal:
        solver(X, y, [np.arange(50)], [1.0])  # type: ignore[operator]
    assert "17" in str(refusal.value)


def test_a_single_class_is_refused_with_the_number_of_the_problem() -> None:
    X, y = draw(50, 4)
    with pytest.raises(FttError, match="problem 1 does not contain every class"):
        fit(X, y, [np.arange(50), np.flatnonzero(y == 1)], (1.0, 1.0))


def test_a_class_that_is_missing_from_a_problem_is_refused() -> None:
    X, y = draw(50, 4, classes=3)
    with pytest.raises(FttError, match="problem 0 does not contain every class"):
        fit(X, y, [np.flatnonzero(y < 2)], n_classes=3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(49, dtype=int)}, "incompatible shapes"),
        ({"X": np.zeros(50)}, "incompatible shapes"),
        ({"y": np.linspace(0, 1, 50)}, "integers"),
        ({"y": np.arange(50) % 2 - 1}, "outside the classes"),
        ({"rows": [np.arange(51)]}, "out of range"),
        ({"rows": [np.array([], dtype=int)]}, "invalid rows"),
        ({"rows": [np.ones(50, dtype=bool)]}, "invalid rows"),
        ({"C": (1.0, 2.0)}, "one entry per problem"),
        ({"C": (0.0,)}, "C must be positive"),
        ({"C": (np.nan,)}, "C must be positive"),
        ({"tol": 0.0}, "positive"),
        ({"max_iter": 0}, "positive"),
    ],
)
def test_wrong_calls_are_refused(change: dict[str, object], message: str) -> None:
    X, y = draw(50, 4)
    call: dict[str, object] = {"X": X, "y": y, "rows": [np.arange(50)], "C": (1.0,)}
    with pytest.raises(FttError, match=message):
        fit(**{**call, **change})


def test_ten_classes_on_features_of_very_unequal_scale_converge_to_newtons_solution() -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((600, 40))
    y = (Z[:, :20] @ rng.standard_normal((20, 10)) + rng.gumbel(size=(600, 10))).argmax(axis=1)
    X = Z * 10 ** rng.uniform(-3, 3, 40)
    fits = fit_many(X, y, [np.arange(600)] * 2, [0.01, 10.0], tol=1e-7)
    assert fits.converged.all()
    model = LogisticRegression(C=10.0, tol=1e-10, solver="newton-cholesky").fit(X, y)
    np.testing.assert_allclose(fits.coef[1] * X.std(axis=0), model.coef_ * X.std(axis=0), atol=1e-3)
