"""The gradient flow: against scipy, against SGD, by its invariant, and at its limit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ftt.errors import FttError
from ftt.theory import Mechanism, Start, flow, follow, invariant, retrained_error, sgd, xavier_start
from ftt.theory.gradient_flow import Flow, frozen_count, xavier
from ftt.theory.mechanism import Array
from ftt.theory.rosenbrock import Field, rodas_step


def by_scipy(mechanism: Mechanism, start: Start, t: float) -> tuple[Array, Array]:
    """The flow as the paper writes it, by an independent integrator."""
    d, m, f = mechanism.d, start.b.size, start.frozen
    trained = d * (m - f)

    def field(_: float, state: Array) -> Array:
        W = np.concatenate([start.W[:, :f], state[:trained].reshape(d, m - f)], axis=1)
        b = state[trained:]
        r = mechanism.xy - mechanism.H @ W @ b
        return np.concatenate([np.outer(r, b[f:]).ravel(), W.T @ r])

    y0 = np.concatenate([start.W[:, f:].ravel(), start.b])
    end = solve_ivp(field, (0, t), y0, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    W = np.concatenate([start.W[:, :f], end[:trained].reshape(d, m - f)], axis=1)
    return W, end[trained:]


@pytest.mark.parametrize("p", [0.0, 0.5, 0.75, 1.0])
def test_flow_agrees_with_scipy_to_1e_8(mechanism: Mechanism, p: float) -> None:
    run = flow(mechanism, 4, p, [0.5, 20.0], rng=3, tolerance=1e-11)
    W, b = by_scipy(mechanism, run.start, 20.0)
    assert np.max(np.abs(run.W[-1] - W)) < 1e-8
    assert np.max(np.abs(run.b[-1] - b)) < 1e-8


@pytest.mark.parametrize("p", [0.0, 0.75])
def test_invariant_holds_along_the_flow_to_1e_8(mechanism: Mechanism, p: float) -> None:
    run = flow(mechanism, 4, p, np.geomspace(1e-2, 1e4, 8), rng=3, tolerance=1e-10)
    before = invariant(run.start.W, run.start.b, run.start.frozen)
    for W, b in zip(run.W, run.b, strict=True):
        assert np.max(np.abs(invariant(W, b, run.start.frozen) - before)) < 1e-8
    assert np.max(run.drift) < 1e-8


@pytest.mark.parametrize("p", [0.0, 0.75])
def test_v_reaches_the_training_optimum_to_1e_8(mechanism: Mechanism, p: float) -> None:
    run = flow(mechanism, 4, p, 1e5, rng=3)
    assert np.max(np.abs(run.v[-1] - mechanism.v_tr)) < 1e-8
    assert run.l_tr[-1] == pytest.approx(mechanism.err_tr, abs=1e-12)
    assert run.c[-1] == pytest.approx(1 - mechanism.alpha, abs=1e-8)


def test_error_falls_with_the_fourth_power_of_the_step(mechanism: Mechanism) -> None:
    start = xavier_start(mechanism, 3, 0.0, np.random.default_rng(0))
    D, Xi = mechanism.spectrum
    exact = by_scipy(mechanism, start, 1.0)[0]
    errors = []
    for n in (80, 160):
        V, b = Xi.T @ start.W, start.b
        for _ in range(n):
            V, b, _ = rodas_step(Field(D, Xi.T @ mechanism.xy, 0), V, b, 1 / n, tolerance=1e-6)
        errors.append(np.max(np.abs(Xi @ V - exact)))
    assert 12 < errors[0] / errors[1] < 20


def test_frozen_columns_are_the_principal_components_and_never_move(mechanism: Mechanism) -> None:
    run = flow(mechanism, 4, 0.5, [1.0, 100.0], rng=0)
    top = np.linalg.eigh(mechanism.H)[1][:, ::-1][:, :2]
    for W in run.W:
        assert np.array_equal(W[:, :2], run.start.W[:, :2])
        assert np.allclose(np.abs(np.sum(W[:, :2] * top, axis=0)), 1)
    assert not np.allclose(run.W[0][:, 2:], run.start.W[:, 2:])


def test_recorded_series_are_those_of_the_recorded_parameters(mechanism: Mechanism) -> None:
    run = flow(mechanism, 4, 0.5, [0.0, 2.0], rng=0)
    assert np.array_equal(run.W[0], run.start.W)
    assert run.l_te[1] == pytest.approx(retrained_error(mechanism, run.W[1]))
    v = run.W[1] @ run.b[1]
    assert run.c[1] == pytest.approx(mechanism.gamma @ v[mechanism.d1 :])
    assert 0 < run.c_0 <= np.linalg.norm(run.W[1][:, 2:] @ run.b[1][2:]) + 1e-12


def test_sgd_on_samples_comes_to_the_numbers_of_the_flow(mechanism: Mechanism) -> None:
    rng = np.random.default_rng(5)
    X, y = mechanism.sample(60_000, rng)
    run = flow(mechanism, 4, 0.0, 10.0, rng=2)
    W, _ = sgd(X, y, run.start, lr=0.005, steps=2000, batch=64, rng=rng)
    assert retrained_error(mechanism, W) == pytest.approx(run.l_te[-1], rel=0.03)
    assert np.max(np.abs(W - run.W[-1])) < 0.12


def test_full_batch_descent_tends_to_the_flow_as_the_learning_rate_falls(mechanism: Mechanism) -> None:
    X, y = mechanism.sample(500_000, np.random.default_rng(6))
    run = flow(mechanism, 4, 0.5, 2.0, rng=2)
    away = [
        np.max(
            np.abs(sgd(X, y, run.start, lr=2.0 / n, steps=n, batch=None, rng=np.random.default_rng(0))[0] - run.W[-1])
        )
        for n in (40, 4000)
    ]
    assert away[1] < 0.002 < away[0]


def test_diverging_sgd_says_so(mechanism: Mechanism) -> None:
    X, y = mechanism.sample(100, np.random.default_rng(0))
    start = xavier_start(mechanism, 3, 0.0, np.random.default_rng(0))
    with np.errstate(all="ignore"), pytest.raises(FttError, match="diverged"):
        sgd(X, y, start, lr=5.0, steps=500, batch=None, rng=np.random.default_rng(0))


def test_xavier_start_is_uniform_within_its_limit() -> None:
    W = xavier(np.random.default_rng(0), 300, 200)
    limit = np.sqrt(6 / 500)
    assert np.abs(W).max() <= limit
    assert np.std(W) == pytest.approx(limit / np.sqrt(3), rel=0.01)


def ill_conditioned(condition: float) -> Mechanism:
    rng = np.random.default_rng(0)
    tail = (2 / condition * 2, 0.8)
    return Mechanism.random(rng, d1=12, d2=6, k=3, eta_core=1.0, eta_spu=0.5, tail=tail)


@pytest.mark.parametrize("p", [0.0, 0.5])
def test_ill_conditioned_sigma_is_integrated_within_tolerance(p: float) -> None:
    mechanism = ill_conditioned(1e8)
    assert mechanism.eigenvalues[0] / mechanism.eigenvalues[-1] == pytest.approx(1e8, rel=0.01)
    loose = flow(mechanism, 6, p, [10.0, 1e4], rng=1, tolerance=1e-8)
    tight = flow(mechanism, 6, p, [10.0, 1e4], rng=1, tolerance=1e-11)
    assert np.max(np.abs(loose.W - tight.W)) < 1e-6
    assert np.max(loose.drift) < 1e-6


def test_a_tolerance_that_cannot_be_met_raises_with_the_reason(
    mechanism: Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ftt.theory.rosenbrock.MAX_STEPS", 200)
    with pytest.raises(FttError, match="cannot be integrated") as caught:
        flow(mechanism.rescaled(1e4), 4, 0.0, 1e4, rng=0, tolerance=1e-16)
    assert "stopped at t" in str(caught.value)


def test_a_lost_invariant_raises_with_the_reason(mechanism: Mechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ftt.theory.gradient_flow.DRIFT_FACTOR", 1e-6)
    with pytest.raises(FttError, match="invariant") as caught:
        flow(mechanism, 4, 0.0, 10.0, rng=0, tolerance=1e-4)
    assert "condition number" in str(caught.value)


def test_fractional_numbers_of_features_are_refused() -> None:
    assert frozen_count(20, 0.25) == 5
    assert frozen_count(3, 1 / 3) == 1
    with pytest.raises(FttError, match="whole number of features"):
        frozen_count(10, 0.25)


@pytest.mark.parametrize("t", [[2.0, 1.0], [-1.0], [], [1.0, 1.0]])
def test_times_out_of_order_are_refused(mechanism: Mechanism, t: list[float]) -> None:
    with pytest.raises(FttError, match="increasing"):
        flow(mechanism, 4, 0.0, t)


def test_a_start_of_the_wrong_shape_is_refused(mechanism: Mechanism) -> None:
    start = xavier_start(mechanism, 4)
    with pytest.raises(FttError, match="start does not fit"):
        follow(mechanism, Start(start.W[:-1], start.b, 0), 1.0)
    with pytest.raises(FttError, match="teacher does not fit"):
        follow(mechanism, start, 1.0, teacher=np.ones(3))


def large() -> Flow:
    mechanism = Mechanism.random(np.random.default_rng(0), d1=500, d2=500, k=10, eta_core=1.0, eta_spu=0.5)
    return flow(mechanism, 50, 0.0, [1.0, 100.0, 1e4], rng=0)


@pytest.mark.slow
def test_thousand_dimensions_stay_below_a_gigabyte() -> None:
    import tracemalloc

    tracemalloc.start()
    run = large()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e9
    assert np.max(run.drift) < 1e-6
    assert run.gap_tr[-1] < 1e-12
