"""Late joining, `both` and `taught` in the linear model, against direct least squares on the joined span."""

from __future__ import annotations

import numpy as np
import pytest

from ftt.errors import FttError
from ftt.theory import (
    Mechanism,
    cost_te,
    excluded_eta_core,
    expected_error,
    flow,
    follow,
    join,
    joined_bound,
    late_joined,
    late_joining,
    retrained_error,
    span_lemma,
    taught_bound,
    teacher_of,
    theorem_3,
    training_decay,
    xavier_start,
)
from ftt.theory.mechanism import Array


def least_squares_error(mechanism: Mechanism, W: Array) -> float:
    """ℓ_te by the normal equations of E_te, written out from the mechanism and solved in an orthonormal basis of W."""
    basis = np.linalg.svd(W, full_matrices=False)[0][:, : np.linalg.matrix_rank(W)]
    moments = np.block(
        [
            [mechanism.Sigma, np.zeros((mechanism.d1, mechanism.d2))],
            [np.zeros((mechanism.d2, mechanism.d1)), mechanism.eta_spu**2 * np.eye(mechanism.d2)],
        ]
    )
    xy = np.concatenate([mechanism.Sigma @ mechanism.beta, np.zeros(mechanism.d2)])
    v = basis @ np.linalg.solve(basis.T @ moments @ basis, basis.T @ xy)
    variance = mechanism.g + mechanism.eta_core**2
    return float(variance - 2 * v @ xy + v @ moments @ v) / 2


def test_late_joined_error_is_direct_least_squares_on_the_joined_span(mechanism: Mechanism) -> None:
    run = flow(mechanism, 2, 0.0, [0.5, 5.0, 500.0], rng=0)
    top = np.linalg.eigh(mechanism.H)[1][:, ::-1][:, :3]
    direct = [least_squares_error(mechanism, np.concatenate([top, W], axis=1)) for W in run.W]
    assert np.allclose(late_joined(run, 3), direct, rtol=1e-9)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("name", ["mechanism", "calm"])
def test_late_joining_reaches_the_optimum_that_neither_block_reaches_alone(
    name: str, m: int, request: pytest.FixtureRequest
) -> None:
    mechanism: Mechanism = request.getfixturevalue(name)
    run = flow(mechanism, m, 0.0, 1e4, rng=1)
    assert run.ratio[-1] > 1.02
    assert retrained_error(mechanism, mechanism.components(3)) / mechanism.err_te > 1.02
    top = mechanism.components(3)
    assert least_squares_error(mechanism, join(top, run.W[-1])) == pytest.approx(mechanism.err_te, rel=1e-7)


def test_late_joining_bound_holds_at_every_time_and_is_that_of_theorem_3(mechanism: Mechanism) -> None:
    run = flow(mechanism, 3, 0.0, np.geomspace(0.1, 1e4, 12), rng=0)
    limits = np.array([late_joining(mechanism, 3, v) for v in run.v])
    assert np.all(late_joined(run, 3) <= limits * (1 + 1e-9))
    assert limits[0] > 2 * limits[-1]
    assert limits[-1] == pytest.approx(late_joining(mechanism, 3), rel=1e-9)
    assert late_joining(mechanism, 3, run.v[2]) == theorem_3(mechanism, 3, run.v[2])


def test_test_gap_is_at_most_a_constant_times_the_training_gap(mechanism: Mechanism) -> None:
    """diag(Σ, η_spu²I) ⪯ (2 + g/(η_core² + η_spu²)) H, which carries the decay in training over to test time."""
    total = mechanism.eta_core**2 + mechanism.eta_spu**2
    factor = 2 + mechanism.g / total
    rng = np.random.default_rng(0)
    deltas = rng.standard_normal((200, mechanism.d))
    assert all(cost_te(mechanism, d) <= factor * (d @ mechanism.H @ d) / 2 for d in deltas)
    run = flow(mechanism, 3, 0.0, [1.0, 10.0, 100.0], rng=0)
    c = span_lemma(mechanism).c_1
    scale = (c / (c * mechanism.alpha - (1 - mechanism.alpha))) ** 2
    decay = [training_decay(mechanism, run.start, run.c_0, t) - mechanism.err_tr for t in run.t]
    assert np.all(late_joined(run, 3) - mechanism.err_te <= factor * scale * np.array(decay))


def test_late_joining_stalls_at_the_excluded_eta_core_and_with_too_few_components(mechanism: Mechanism) -> None:
    at = mechanism.with_noise(eta_core=excluded_eta_core(mechanism))
    stalled = late_joined(flow(at, 3, 0.0, [1e6, 1e7], rng=0), 3) / at.err_te
    assert stalled[1] > 1.1
    assert stalled[0] == pytest.approx(stalled[1], abs=1e-9)
    short = late_joined(flow(mechanism, 3, 0.0, 1e7, rng=0), 2) / mechanism.err_te
    assert short[-1] > 1.01
    with pytest.raises(FttError, match="excluded"):
        late_joining(at, 3)
    with pytest.raises(FttError, match="fewer components"):
        late_joining(mechanism, 2)


def test_late_joining_is_faster_than_ftt_near_the_excluded_eta_core(mechanism: Mechanism) -> None:
    """ERM keeps its pace there, while the trained part of FTT has almost nothing left to learn."""
    near = mechanism.with_noise(eta_core=1.02 * excluded_eta_core(mechanism))
    late = late_joined(flow(near, 3, 0.0, 1e3, rng=0), 3)[-1] / near.err_te
    assert late - 1 < 1e-6 < 1e-2 < flow(near, 6, 0.5, 1e3, rng=0).ratio[-1] - 1


@pytest.mark.parametrize("c", [0.0, 0.5, 4.0, -2.0])
def test_any_initial_feature_with_another_share_of_gamma_is_enough(mechanism: Mechanism, c: float) -> None:
    initial = np.concatenate([mechanism.beta, c * mechanism.gamma])[:, None]
    run = flow(mechanism, 2, 0.0, [1.0, 10.0, 1e4], rng=0)
    errors = np.array([least_squares_error(mechanism, join(initial, W)) for W in run.W])
    assert np.all(errors <= np.array([joined_bound(mechanism, c, v) for v in run.v]) * (1 + 1e-9))
    assert errors[-1] == pytest.approx(mechanism.err_te, rel=1e-8)


def test_initial_feature_parallel_to_the_training_optimum_adds_nothing(mechanism: Mechanism) -> None:
    run = flow(mechanism, 2, 0.0, 1e5, rng=0)
    np.testing.assert_allclose(run.v[-1], mechanism.v_tr, atol=1e-6)
    # The optimum as far as training has come: what it lacks, however small, would count as one more feature.
    both = least_squares_error(mechanism, join(run.v[-1][:, None], run.W[-1]))
    assert both == pytest.approx(run.l_te[-1], rel=1e-6)
    c = (mechanism.eta_core / mechanism.eta_spu) ** 2
    assert joined_bound(mechanism, c, run.v[-1]) > 1e3


def test_student_tends_to_its_teacher_and_is_no_worse(mechanism: Mechanism) -> None:
    erm = flow(mechanism, 3, 0.0, 1e4, rng=0)
    teacher = teacher_of(mechanism, erm.W[-1])
    run = follow(mechanism, xavier_start(mechanism, 3, 0.0, 7), [0.5, 5.0, 1e5], teacher=teacher)
    assert np.allclose(run.v[-1], teacher, atol=1e-8)
    assert run.l_tr[-1] < 1e-15
    assert np.all(run.l_te <= np.array([taught_bound(mechanism, teacher, v) for v in run.v]) * (1 + 1e-9))
    assert taught_bound(mechanism, teacher) == pytest.approx(erm.l_te[-1], rel=1e-9)
    assert run.l_te[-1] <= erm.l_te[-1] + 1e-9


def test_student_of_a_joined_teacher_is_optimal_with_one_feature(mechanism: Mechanism) -> None:
    alone = flow(mechanism, 2, 0.0, 1e5, rng=0)
    teacher = teacher_of(mechanism, join(mechanism.components(3), alone.W[-1]))
    assert np.allclose(teacher, mechanism.v_te, atol=1e-5)
    student = follow(mechanism, xavier_start(mechanism, 1, 0.0, 2), 1e5, teacher=teacher)
    assert student.ratio[-1] == pytest.approx(1, abs=1e-8)
    assert flow(mechanism, 1, 0.0, 1e5, rng=2).ratio[-1] > 1.5


def test_expected_error_is_the_mean_over_fitted_probes(mechanism: Mechanism) -> None:
    W = flow(mechanism, 3, 0.0, 10.0, rng=0).W[-1]
    rng, n, errors = np.random.default_rng(0), 12, []
    for _ in range(4000):
        X, y = mechanism.sample(n, rng, environment="test")
        v = W @ np.linalg.lstsq(X @ W, y, rcond=None)[0]
        errors.append(mechanism.err_te + cost_te(mechanism, v - mechanism.v_te))
    standard_error = np.std(errors) / np.sqrt(len(errors))
    assert abs(np.mean(errors) - expected_error(mechanism, W, n)) < 4 * standard_error
    assert expected_error(mechanism, W, n) > 1.2 * retrained_error(mechanism, W)
    with pytest.raises(FttError, match="too few target rows"):
        expected_error(mechanism, W, 4)


@pytest.mark.parametrize("w", [0.0, 0.3, 1.0])
def test_observed_labels_mixed_with_a_perfect_teacher_cost_what_the_closed_form_says(
    mechanism: Mechanism, w: float
) -> None:
    """Labels (1 − w)x₁β + wy move the optimum to (1 − w)(β, 0) + w v*_tr."""
    mixed = (1 - w) * mechanism.v_te + w * mechanism.v_tr
    run = follow(mechanism, xavier_start(mechanism, 1, 0.0, 2), 1e5, teacher=mixed)
    share = w * (1 - mechanism.alpha)
    noise = (share / (1 - share)) ** 2 * mechanism.eta_spu**2
    assert run.gap_te[-1] == pytest.approx(mechanism.g * noise / (mechanism.g + noise) / 2, abs=1e-9)


def test_one_trained_feature_at_the_excluded_eta_core_adds_nothing_to_pca(mechanism: Mechanism) -> None:
    at = mechanism.with_noise(eta_core=excluded_eta_core(mechanism))
    late = late_joined(flow(at, 1, 0.0, 1e7, rng=0), 3)[-1]
    assert late == pytest.approx(least_squares_error(at, at.components(3)), rel=1e-6)
    assert late > 1.1 * at.err_te


def test_pca_alone_is_enough_once_it_includes_the_missed_eigenvector(mechanism: Mechanism) -> None:
    lemma = span_lemma(mechanism)
    above = int((mechanism.spectrum[0] > lemma.mu * (1 + 1e-9)).sum())
    assert least_squares_error(mechanism, mechanism.components(above)) > 1.01 * mechanism.err_te
    assert least_squares_error(mechanism, mechanism.components(above + 1)) == pytest.approx(mechanism.err_te)
