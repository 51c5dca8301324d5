"""The span lemma, the excluded η_core and Theorem 3."""

from __future__ import annotations

import numpy as np
import pytest

from ftt.errors import FttError
from ftt.theory import Mechanism, excluded_eta_core, flow, span_lemma, theorem_3


@pytest.mark.parametrize("seed", range(10))
def test_beta_and_c1_gamma_lie_in_the_span_of_the_top_k(seed: int) -> None:
    rng = np.random.default_rng(seed)
    core, spu = np.exp(rng.uniform(-1.5, 0.7, 2))
    mechanism = Mechanism.random(rng, d1=10, d2=int(rng.integers(1, 8)), k=3, eta_core=core, eta_spu=spu)
    lemma = span_lemma(mechanism)
    top = np.linalg.eigh(mechanism.H)[1][:, ::-1][:, :3]
    vector = np.concatenate([mechanism.beta, lemma.c_1 * mechanism.gamma])
    assert np.linalg.norm(vector - top @ (top.T @ vector)) < 1e-8
    assert np.min(np.abs(np.linalg.eigvalsh(mechanism.H) - lemma.mu)) < 1e-9


def test_c1_is_the_sum_the_proof_gives(mechanism: Mechanism) -> None:
    lemma = span_lemma(mechanism)
    lam, b = mechanism.eigenvalues[:3], mechanism.beta_coordinates[:3]
    assert lemma.c_1 == pytest.approx(np.sum(lam * b**2 / (lam - lemma.mu)), abs=1e-10)
    assert lemma.c_1 > 0


def test_span_lemma_needs_only_lambda_k_above_the_spurious_noise() -> None:
    """λ_k = 2 between η_spu² and η_core²: the paper's assumption fails, the lemma does not."""
    mechanism = Mechanism(np.diag([5.0, 2.0, 0.5]), [0.6, 0.8, 0.0], [0.6, 0.8], eta_core=1.8, eta_spu=1.2)
    lemma = span_lemma(mechanism)
    top = np.linalg.eigh(mechanism.H)[1][:, ::-1][:, :2]
    vector = np.concatenate([mechanism.beta, lemma.c_1 * mechanism.gamma])
    assert np.linalg.norm(vector - top @ (top.T @ vector)) < 1e-8
    with pytest.raises(FttError, match="max"):
        span_lemma(mechanism, salience="statement")
    with pytest.raises(FttError, match=r"\+"):
        span_lemma(mechanism, salience="proof")


def test_span_lemma_fails_below_the_spurious_noise_and_says_so() -> None:
    mechanism = Mechanism(np.diag([5.0, 1.0, 0.5]), [0.6, 0.8, 0.0], [0.6, 0.8], eta_core=0.5, eta_spu=1.5)
    with pytest.raises(FttError, match="λ_k > η_spu²"):
        span_lemma(mechanism)
    top = np.linalg.eigh(mechanism.H)[1][:, ::-1][:, :2]
    base, spurious = np.concatenate([mechanism.beta, [0, 0]]), np.concatenate([[0, 0, 0], mechanism.gamma])
    outside = np.eye(5) - top @ top.T
    assert np.linalg.matrix_rank(outside @ np.stack([base, spurious], axis=1), tol=1e-6) == 2


def test_excluded_eta_core_puts_c1_at_its_forbidden_value(mechanism: Mechanism) -> None:
    spu = mechanism.eta_spu**2
    inner = np.linalg.inv(spu * np.eye(mechanism.d1) - mechanism.Sigma) @ mechanism.Sigma
    by_the_theorem = -spu * mechanism.beta @ inner @ mechanism.beta
    excluded = excluded_eta_core(mechanism)
    assert excluded**2 == pytest.approx(by_the_theorem, abs=1e-10)
    lemma = span_lemma(mechanism.with_noise(eta_core=excluded))
    assert lemma.c_1 == pytest.approx(lemma.forbidden, rel=1e-9)
    assert lemma.mu == pytest.approx(spu, rel=1e-9)
    assert excluded > mechanism.eta_spu


def test_theorem_3_bounds_the_flow_before_its_rate_is_hidden(mechanism: Mechanism) -> None:
    run = flow(mechanism, 6, 0.5, [0.0, 1.0, 10.0, 100.0, 1e4], rng=0)
    limits = [theorem_3(mechanism, 3, v) for v in run.v]
    assert np.all(run.l_te <= np.array(limits) * (1 + 1e-9))
    assert limits[-1] == pytest.approx(theorem_3(mechanism, 3), rel=1e-9)
    assert theorem_3(mechanism, 3) == mechanism.err_te


def test_ftt_reaches_the_optimum_with_k_frozen_and_stalls_with_one_fewer(mechanism: Mechanism) -> None:
    assert flow(mechanism, 6, 3 / 6, 1e5, rng=0).ratio[-1] == pytest.approx(1, abs=1e-9)
    early, late = flow(mechanism, 6, 2 / 6, [1e6, 1e7], rng=0).ratio
    assert late > 1.01
    assert early == pytest.approx(late, abs=1e-6)


def test_ftt_stalls_at_the_excluded_eta_core_and_not_two_percent_away(mechanism: Mechanism) -> None:
    excluded = excluded_eta_core(mechanism)
    at = flow(mechanism.with_noise(eta_core=excluded), 6, 0.5, [1e6, 1e7], rng=0).ratio
    assert at[-1] > 1.1
    assert at[0] == pytest.approx(at[1], abs=1e-9)
    for factor in (0.98, 1.02):
        away = flow(mechanism.with_noise(eta_core=factor * excluded), 6, 0.5, 1e7, rng=0).ratio[-1]
        assert away == pytest.approx(1, abs=1e-6)


def test_theorem_3_refuses_too_few_components_and_the_excluded_noise(mechanism: Mechanism) -> None:
    with pytest.raises(FttError, match="fewer components"):
        theorem_3(mechanism, 2)
    with pytest.raises(FttError, match="excluded"):
        theorem_3(mechanism.with_noise(eta_core=excluded_eta_core(mechanism)), 3)
