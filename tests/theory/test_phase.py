"""Phase diagrams and the toy example."""

from __future__ import annotations

import numpy as np
import pytest

from ftt.errors import FttError
from ftt.theory import Mechanism, Setting, Start, excluded_eta_core, flow, retrained_error, single_feature_ratio
from ftt.theory.curves import curves
from ftt.theory.figure3 import plane_flow, plane_mechanism
from ftt.theory.phases import Network, phase_diagram, sweep_p

GRID = [0.2, 0.6, 1.2]


@pytest.fixture(scope="module")
def base() -> Mechanism:
    return Mechanism.random(np.random.default_rng(0), d1=14, d2=6, k=2, eta_core=1.2, eta_spu=1.2)


def test_erm_is_bad_above_the_diagonal_pca_below_and_ftt_and_late_joining_nowhere(base: Mechanism) -> None:
    found = phase_diagram(base, GRID, GRID, Network(6, 0.5))
    assert found.erm[2, 0] > 1.5 > 1.1 > found.erm[0, 2]
    assert found.pca[0, 2] > 1.5 > 1.1 > found.pca[2, 0]
    off = ~np.eye(3, dtype=bool)
    assert np.all(found.ftt[off] < 1.001)
    assert np.all(found.late[off] < 1.001)


def test_cells_are_the_flows_of_their_noises(base: Mechanism) -> None:
    found = phase_diagram(base, GRID[:2], GRID[1:], Network(6, 0.5, t=100.0, seed=4))
    alone = flow(base.with_noise(eta_core=0.6, eta_spu=1.2), 6, 0.5, 100.0, rng=4)
    assert found.ftt[1, 1] == pytest.approx(alone.ratio[-1], rel=1e-3)
    expected = [excluded_eta_core(base.with_noise(eta_spu=spu)) for spu in GRID[1:]]
    assert np.allclose(found.excluded, expected)


def test_two_processes_give_the_same_diagram_as_one(base: Mechanism) -> None:
    one, two = (phase_diagram(base, GRID[:2], GRID[:2], Network(6, 0.5, t=10.0), jobs=jobs) for jobs in (1, 2))
    for name in ("erm", "pca", "ftt", "late"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


def test_noise_above_lambda_k_is_refused(base: Mechanism) -> None:
    with pytest.raises(FttError, match="below λ_k"):
        phase_diagram(base, [0.5, 50.0], GRID, Network(6, 0.5))


def test_sweep_runs_from_erm_to_pca_and_is_optimal_from_k_on(base: Mechanism) -> None:
    ratios = sweep_p(base, [(1.2, 0.4)], Network(6), seeds=2).ratios
    assert ratios.shape == (1, 7, 2)
    means = ratios[0].mean(axis=1)
    assert means[0] > 1.2
    assert np.all(means[2:6] < 1.001)
    assert means[6] == pytest.approx(phase_diagram(base, [1.2], [0.4], Network(6, 1.0, t=1.0)).pca[0, 0], rel=1e-9)


def test_toy_ends_at_the_training_optimum_and_retrains_along_its_ray() -> None:
    start = Start(np.array([[0.3], [0.2]]), np.array([0.5]), 0)
    for core, spu in ((0.4, 1.0), (1.0, 0.4)):
        toy = plane_flow(plane_mechanism(core, spu), start)
        mechanism = toy.flow.mechanism
        assert np.allclose(toy.flow.v[-1], mechanism.v_tr, atol=1e-8)
        along = toy.v_test / toy.flow.v[-1]
        assert along[0] == pytest.approx(along[1], rel=1e-6)
        assert toy.approximation + toy.spurious == pytest.approx(toy.flow.gap_te[-1], rel=1e-9)
        assert toy.flow.ratio[-1] == pytest.approx(single_feature_ratio(mechanism), abs=1e-8)


def test_toy_is_much_worse_where_core_noise_is_larger() -> None:
    start = Start(np.array([[0.3], [0.2]]), np.array([0.5]), 0)
    good, bad = (plane_flow(plane_mechanism(*pair), start) for pair in ((0.4, 1.0), (1.0, 0.4)))
    assert bad.flow.ratio[-1] > 2 * good.flow.ratio[-1]


def test_curves_end_at_the_asked_time_and_leave_out_a_bound_that_does_not_apply() -> None:
    setting = Setting(d1=6, d2=3, k=2, m=4, p=0.5, eta_core=0.4, eta_spu=0.8)
    for points in (2, 3, 5):
        found = curves(setting, t=7.0, points=points)
        assert found.t.size == points
        assert found.t[-1] == 7.0
    assert found.lower is None
    assert curves(setting.replace(eta_core=0.9), t=7.0, points=2).lower is not None


def test_late_curve_is_the_error_of_the_joined_features() -> None:
    found = curves(Setting(d1=6, d2=3, k=2, m=4, p=0.5), t=50.0, points=4)
    assert found.alone is not None
    mechanism = found.erm.mechanism
    joined = np.concatenate([mechanism.components(2), found.alone.W[-1]], axis=1)
    assert found.late[-1] == pytest.approx(retrained_error(mechanism, joined) / mechanism.err_te, rel=1e-9)
    assert curves(found.setting.replace(p=1.0), t=1.0, points=2).alone is None
