"""The estimators of both noises against mechanisms whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from ftt.arrays import FloatArray, IntArray
from ftt.diagnosis import asymptote, confident, neighbours
from ftt.diagnosis.scores import deal, out_of_fold
from ftt.diagnosis.spurious import count, count_predicted
from ftt.errors import FttError


def labelled(
    n: int, noise: float, *, classes: int = 2, apart: float = 2.0, seed: int = 0
) -> tuple[FloatArray, IntArray, IntArray]:
    """Classes as normal clouds beside an attribute, with a share of wrong labels: features, labels, attribute."""
    rng = np.random.default_rng(seed)
    core, a = rng.integers(0, classes, n), rng.integers(0, 2, n)
    wrong = rng.random(n) < noise
    y = np.where(wrong, (core + rng.integers(1, classes, n)) % classes, core)
    phi = np.c_[apart * np.eye(classes)[core], a] + np.c_[rng.standard_normal((n, classes)), np.zeros(n)]
    return np.c_[phi, rng.standard_normal((n, 10))], y, a


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
def test_the_asymptote_finds_the_noise_of_clouds_that_overlap(noise: float) -> None:
    phi, y, a = labelled(3000, noise)
    found = asymptote.estimate(out_of_fold(phi, y, a), a)
    assert found.noise.low <= noise <= found.noise.high
    assert abs(found.noise.value - noise) < 0.04
    assert found.misfit > 0.001


def test_the_asymptote_serves_ten_classes() -> None:
    phi, y, a = labelled(2500, 0.2, classes=10, apart=4.0)
    found = asymptote.estimate(out_of_fold(phi, y, a), a).noise
    assert abs(found.value - 0.2) < 0.03


def test_the_gradient_of_the_curve_is_that_of_finite_differences() -> None:
    phi, y, a = labelled(300, 0.2, classes=3, apart=3.0)
    curve = asymptote.Curve(out_of_fold(phi, y, a), a)
    point = np.concatenate([[0.1, 1.3], np.random.default_rng(1).normal(size=curve.values * 3)])
    _, gradient = curve._loss(point)
    for i in range(len(point)):
        step = np.zeros_like(point)
        step[i] = 1e-6
        slope = (curve._loss(point + step)[0] - curve._loss(point - step)[0]) / 2e-6
        assert gradient[i] == pytest.approx(slope, abs=1e-6)


def test_the_most_confident_rows_bound_the_noise_from_above_where_classes_overlap() -> None:
    phi, y, a = labelled(3000, 0.1)
    assert confident.estimate(out_of_fold(phi, y, a), a).value > 0.09


def test_neighbours_find_the_noise_of_clouds_that_are_far_apart() -> None:
    phi, y, a = labelled(2000, 0.2, apart=12.0)
    near = neighbours.nearest(phi, a)
    assert neighbours.consensus(y, near) == pytest.approx(0.2, abs=0.03)
    assert neighbours.closed_form(y, near) == pytest.approx(0.2, abs=0.03)


def test_neighbours_of_another_class_look_like_noise() -> None:
    phi, y, a = labelled(2000, 0.1)
    assert neighbours.closed_form(y, neighbours.nearest(phi, a)) > 0.15


def test_the_nearest_rows_share_the_attribute_and_exclude_the_row_itself() -> None:
    phi, _, a = labelled(200, 0.0)
    near = neighbours.nearest(phi, a)
    assert (a[near] == a[:, None]).all()
    assert (near != np.arange(200)[:, None]).all()


def test_scores_out_of_fold_know_nothing_about_random_labels() -> None:
    rng = np.random.default_rng(0)
    y, phi = rng.integers(0, 2, 300), rng.standard_normal((300, 200))
    scores = out_of_fold(phi, y, np.zeros(300, dtype=np.int64))
    assert not scores.informative
    assert abs(scores.accuracy.value - 0.5) < 0.12


def test_folds_hold_equal_shares_of_every_stratum() -> None:
    strata = np.repeat([0, 1, 2], [100, 50, 10])
    fold = deal(strata, 10, np.random.default_rng(0))
    for stratum, each in ((0, 10), (1, 5), (2, 1)):
        assert (np.bincount(fold[strata == stratum], minlength=10) == each).all()


def test_a_class_with_fewer_rows_than_folds_is_refused() -> None:
    with pytest.raises(FttError, match="too few rows for out-of-fold"):
        out_of_fold(np.zeros((20, 2)), np.repeat([0, 1], [15, 5]), np.zeros(20, dtype=np.int64))


def test_spurious_noise_is_the_share_that_the_best_rule_on_the_attribute_misses() -> None:
    found = count(np.array([[80, 10], [20, 90]]))
    assert found.noise.value == pytest.approx(0.15)
    assert found.rule.tolist() == [0, 1]
    assert found.constant == pytest.approx(0.45)


def test_predicted_attributes_are_corrected_for_the_errors_of_the_probe() -> None:
    """One prediction in ten is wrong; uncorrected the noise would be 0.1 · 0.9 + 0.9 · 0.1 = 0.18."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 20_000)
    a = np.where(rng.random(20_000) < 0.1, 1 - y, y)
    seen = np.where(rng.random(20_000) < 0.1, 1 - a, a)
    table = np.zeros((2, 2), dtype=np.int64)
    np.add.at(table, (y, seen), 1)
    confusion = np.array([[[450, 50], [50, 450]]] * 2)
    found = count_predicted(table, confusion)
    assert found.noise.low < 0.1 < found.noise.high
    assert abs(found.noise.value - 0.1) < 0.02
    assert count(table).noise.value > 0.17
