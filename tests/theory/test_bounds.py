"""Each statement against an oracle, and each refusal where its assumptions fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from ftt.errors import FttError
from ftt.theory import (
    Mechanism,
    Start,
    c_interval,
    decomposition,
    error_identity,
    flow,
    invariant,
    lemma_1,
    retrain,
    retrained_error,
    single_feature_ratio,
    spurious_norm_limit,
    spurious_weight,
    theorem_1,
    theorem_2,
    training_decay,
    training_error,
)
from ftt.theory.mechanism import Array


def with_optimum_in_its_span(mechanism: Mechanism, m: int, seed: int) -> tuple[Array, Array]:
    """Random W and b with Wb = v*_tr exactly, as at t = ∞."""
    rng = np.random.default_rng(seed)
    W, b = rng.standard_normal((mechanism.d, m)), rng.standard_normal(m)
    return W + np.outer(mechanism.v_tr - W @ b, b) / (b @ b), b


def test_retraining_is_the_minimum_found_by_a_general_optimiser(mechanism: Mechanism) -> None:
    W = np.random.default_rng(0).standard_normal((mechanism.d, 3))
    d1 = mechanism.d1

    def test_time_error(b: Array) -> float:
        miss = W[:d1] @ b - mechanism.beta
        noise = mechanism.eta_spu**2 * np.sum((W[d1:] @ b) ** 2)
        return float(mechanism.eta_core**2 + miss @ mechanism.Sigma @ miss + noise) / 2

    found = minimize(test_time_error, np.zeros(3), method="BFGS", options={"gtol": 1e-12})
    gap, b = retrain(mechanism, W)
    assert mechanism.err_te + gap == pytest.approx(found.fun, abs=1e-8)
    assert np.allclose(b, found.x, atol=1e-5)


@pytest.mark.parametrize("m", [1, 2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_error_identity_is_the_directly_minimised_error_to_1e_8(mechanism: Mechanism, m: int, seed: int) -> None:
    W, _ = with_optimum_in_its_span(mechanism, m, seed)
    direct = retrained_error(mechanism, W) / mechanism.err_te
    assert error_identity(mechanism, W) == pytest.approx(direct, abs=1e-8)


def test_error_identity_is_the_formula_of_the_lemma(mechanism: Mechanism) -> None:
    W, _ = with_optimum_in_its_span(mechanism, 4, 0)
    W1, W2 = W[: mechanism.d1], W[mechanism.d1 :]
    inner = np.eye(mechanism.d2) + mechanism.eta_spu**2 * W2 @ np.linalg.inv(W1.T @ mechanism.Sigma @ W1) @ W2.T
    gamma, scale = mechanism.gamma, (mechanism.eta_core / mechanism.eta_spu) ** 2
    assert error_identity(mechanism, W) == pytest.approx(1 + scale * gamma @ np.linalg.inv(inner) @ gamma, abs=1e-10)


def test_error_identity_refuses_what_its_lemma_excludes(mechanism: Mechanism) -> None:
    with pytest.raises(FttError, match="not in the span"):
        error_identity(mechanism, np.random.default_rng(0).standard_normal((mechanism.d, 3)))
    W, _ = with_optimum_in_its_span(mechanism, 3, 0)
    with pytest.raises(FttError, match="full column rank"):
        error_identity(mechanism, np.concatenate([W, W[:, :1]], axis=1))
    with pytest.raises(FttError, match="full column rank"):
        error_identity(mechanism, with_optimum_in_its_span(mechanism, mechanism.d1 + 1, 0)[0])


parameters = st.tuples(st.integers(0, 10_000), st.integers(1, 6), st.floats(-3, 3))


@settings(max_examples=60, deadline=None)
@given(parameters)
def test_lemma_1_and_the_decomposition_hold_for_any_parameters(drawn: tuple[int, int, float]) -> None:
    seed, m, log_size = drawn
    rng = np.random.default_rng(seed)
    core, spu = np.exp(rng.uniform(-1.5, 0.7, 2))
    mechanism = Mechanism.random(rng, d1=5, d2=4, k=2, eta_core=core, eta_spu=spu)
    W, b = np.exp(log_size) * rng.standard_normal((9, m)), rng.standard_normal(m)
    l_tr = training_error(mechanism, W @ b)
    assert l_tr >= lemma_1(mechanism)
    assert retrained_error(mechanism, W) <= decomposition(mechanism, W, b) * (1 + 1e-9)
    low, high = c_interval(mechanism, l_tr)
    assert low - 1e-9 <= spurious_weight(mechanism, W @ b) <= high + 1e-9


def test_decomposition_refuses_c_of_one(mechanism: Mechanism) -> None:
    W = np.concatenate([np.zeros(mechanism.d1), mechanism.gamma])[:, None]
    with pytest.raises(FttError, match="is 1"):
        decomposition(mechanism, W, np.ones(1))


def test_c_interval_shrinks_to_the_limit_of_c(mechanism: Mechanism) -> None:
    low, high = c_interval(mechanism, mechanism.err_tr)
    assert low == pytest.approx(1 - mechanism.alpha, abs=1e-7)
    assert high == pytest.approx(1 - mechanism.alpha, abs=1e-7)
    with pytest.raises(FttError, match="below its minimum"):
        c_interval(mechanism, mechanism.err_tr / 2)


@pytest.mark.parametrize("p", [0.0, 0.75])
def test_training_decay_bounds_the_flow_at_every_time(mechanism: Mechanism, p: float) -> None:
    run = flow(mechanism, 4, p, np.geomspace(0.01, 1e3, 20), rng=1)
    limits = [training_decay(mechanism, run.start, run.c_0, t) for t in run.t]
    assert np.all(run.l_tr <= np.array(limits) * (1 + 1e-9))
    assert limits[-1] < limits[0]


def test_training_decay_rests_on_the_bound_of_b_that_the_invariant_gives(mechanism: Mechanism) -> None:
    run = flow(mechanism, 4, 0.0, np.geomspace(0.01, 1e3, 40), rng=1)
    size = max(np.linalg.eigvalsh(invariant(run.start.W, run.start.b))[-1], 0)
    lowest = np.sqrt(run.c_0**2 + size**2 / 4) - size / 2
    assert np.all(np.sum(run.b**2, axis=1) >= lowest - 1e-9)


def test_training_decay_refuses_a_flow_that_touches_zero(mechanism: Mechanism) -> None:
    start = Start(np.zeros((mechanism.d, 2)), np.zeros(2), 0)
    with pytest.raises(FttError, match="c_0"):
        training_decay(mechanism, start, 0.0, 1.0)


def test_theorem_1_is_reached_from_above_along_the_flow(calm: Mechanism) -> None:
    run = flow(calm, 4, 0.0, [5.0, 50.0, 500.0, 5e3], rng=0)
    explicit = [theorem_1(calm, l_tr) for l_tr in run.l_tr]
    assert np.all(run.l_te <= np.array(explicit) * (1 + 1e-9))
    assert explicit[-1] == pytest.approx(theorem_1(calm), rel=1e-6)
    assert theorem_1(calm) == pytest.approx((1 + (calm.eta_core / calm.eta_spu) ** 2) * calm.err_te)


def test_theorem_1_refuses_the_other_order_and_an_early_time(mechanism: Mechanism, calm: Mechanism) -> None:
    with pytest.raises(FttError, match="η_core < η_spu"):
        theorem_1(mechanism)
    assert theorem_1(mechanism, any_order=True) > mechanism.err_te
    with pytest.raises(FttError, match="no bound yet"):
        theorem_1(calm, calm.eta_spu**2)


def test_one_feature_has_its_closed_form_and_bounds_more_features(mechanism: Mechanism) -> None:
    for seed in range(3):
        one, more = (flow(mechanism, m, 0.0, 1e5, rng=seed).ratio[-1] for m in (1, 4))
        assert one == pytest.approx(single_feature_ratio(mechanism), abs=1e-8)
        assert more <= single_feature_ratio(mechanism) + 1e-9
    assert single_feature_ratio(mechanism) < theorem_1(mechanism, any_order=True) / mechanism.err_te


def test_theorem_2_of_the_main_text_holds_and_is_nearly_vacuous(mechanism: Mechanism) -> None:
    run = flow(mechanism, 6, 0.0, 1e5, rng=0)
    bound = theorem_2(mechanism, run.W[-1])
    assert 1 < bound < 1.1 < 1.3 < run.ratio[-1]


def test_appendix_form_of_theorem_2_is_violated_in_other_units(mechanism: Mechanism) -> None:
    """Measuring x and y in other units moves the flow along the same W; a bound on the ratio must not notice."""
    run = flow(mechanism, 4, 0.0, 1e5, rng=0)
    small = mechanism.rescaled(0.01)
    again = flow(small, 4, 0.0, 1e9, rng=0)
    assert again.ratio[-1] == pytest.approx(run.ratio[-1], abs=1e-6)
    assert theorem_2(small, again.W[-1]) == pytest.approx(theorem_2(mechanism, run.W[-1]), rel=1e-5)
    assert theorem_2(small, again.W[-1], variant="appendix") > again.ratio[-1] + 0.1


def test_main_text_of_theorem_2_fails_for_a_xavier_start_of_norm_above_one() -> None:
    """Its proof needs ‖W(0)‖ ≤ 1; here d = 2, m = 1, and this start is longer. The repaired form holds."""
    mechanism = Mechanism([[5.8]], [1.0], [1.0], eta_core=1.0, eta_spu=0.3)
    mechanism.require("distinct", "span", "salient-sum", "core>spu", statement="Theorem 2")
    run = flow(mechanism, 1, 0.0, 1e4, rng=31)
    assert np.linalg.norm(run.start.W, 2) > 1
    assert run.ratio[-1] < theorem_2(mechanism, run.W[-1]) - 0.1
    assert run.ratio[-1] >= theorem_2(mechanism, run.W[-1], variant="start", start=run.start)


def test_spurious_norm_limit_holds_where_the_two_of_the_appendix_does_not() -> None:
    mechanism = Mechanism([[5.8]], [1.0], [1.0], eta_core=1.0, eta_spu=0.3)
    run = flow(mechanism, 1, 0.0, 1e4, rng=31)
    size = np.linalg.norm(run.W[-1][1:], 2) ** 2
    assert 2 < size <= spurious_norm_limit(mechanism, run.start)


def test_theorem_2_refuses_what_it_excludes(mechanism: Mechanism, calm: Mechanism) -> None:
    W, _ = with_optimum_in_its_span(mechanism, 3, 0)
    with pytest.raises(FttError, match="η_core > η_spu"):
        theorem_2(calm, W)
    with pytest.raises(FttError, match="full column rank"):
        theorem_2(mechanism, np.concatenate([W, W[:, :1]], axis=1))
    with pytest.raises(FttError, match="variant"):
        theorem_2(mechanism, W, variant="other")  # type: ignore[arg-type]
    with pytest.raises(FttError, match="start"):
        theorem_2(mechanism, W, variant="start")
