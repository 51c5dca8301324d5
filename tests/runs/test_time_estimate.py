"""The time that is told beforehand: what runs share is counted once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ftt.data import Roots
from ftt.data.digits import Digits
from ftt.freeze.pca import PCA
from ftt.methods.erm import ERM
from ftt.recipe import Recipe
from ftt.runs import time_estimate
from ftt.runs.time_estimate import Cost, estimate
from ftt.spec import Spec, Training

MEASURE = time_estimate.pilot
SLOWDOWN = time_estimate.slowdown
ROOTS = Roots.from_environment()
SPEC = Spec(data=Digits(), backbone="tinyconv", recipe=Recipe(None, ERM()), train=Training(epochs=3))


@pytest.fixture(autouse=True)
def _known_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        time_estimate, "pilot", lambda spec, roots: Cost(training=2.0, forward=1.0, train_rows=10, rows=30)
    )
    monkeypatch.setattr(time_estimate, "slowdown", lambda at_once: 1.0)


def test_plain_training_costs_its_epochs_and_a_pass_over_the_data() -> None:
    assert estimate([SPEC], ROOTS) == 3 * 10 * 2 + 30


def test_a_frozen_part_costs_another_pass() -> None:
    assert estimate([replace(SPEC, recipe=Recipe(PCA(), ERM()))], ROOTS) == 3 * 10 * 2 + 30 + 30


def test_steps_count_where_they_are_given() -> None:
    assert estimate([replace(SPEC, train=Training(steps=4, batch_size=5))], ROOTS) == 4 * 5 * 2 + 30


def test_runs_that_differ_in_probing_only_share_features_and_training() -> None:
    several = [replace(SPEC, probe=SPEC.probe.replace(dims=dims)) for dims in (2, 4, 8)]
    assert estimate(several, ROOTS) == estimate([SPEC], ROOTS)


def test_every_p_that_is_joined_late_shares_the_training_of_the_plain_method() -> None:
    late = [replace(SPEC, recipe=Recipe(PCA(p=p), ERM(), "late")) for p in (0.25, 0.5)]
    joint = [replace(SPEC, recipe=Recipe(PCA(p=p), ERM())) for p in (0.25, 0.5)]
    assert estimate([SPEC, *late], ROOTS) == estimate([SPEC], ROOTS) + 30
    assert estimate([SPEC, *joint], ROOTS) == 3 * (3 * 10 * 2 + 30) + 30


def test_runs_side_by_side_end_with_the_last_worker() -> None:
    seeds = [replace(SPEC, data=Digits(seed=seed), seed=seed) for seed in range(3)]
    one = estimate([SPEC], ROOTS)
    assert [estimate(seeds, ROOTS, at_once=count) for count in (1, 2, 3)] == [3 * one, 2 * one, one]


def test_runs_that_slow_each_other_down_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SLOWDOWN(1) == 1
    assert SLOWDOWN(2) >= 1
    alone = estimate([SPEC], ROOTS, at_once=2)
    monkeypatch.setattr(time_estimate, "slowdown", lambda at_once: 1.5)
    assert estimate([SPEC], ROOTS, at_once=2) == 1.5 * alone


def test_what_trains_nothing_costs_one_pass() -> None:
    assert estimate([replace(SPEC, recipe=Recipe(PCA(), None))], ROOTS) == 30


def test_a_pilot_times_real_steps() -> None:
    cost = MEASURE(SPEC, ROOTS)
    assert 0 < cost.forward < cost.training < 1
    assert cost.train_rows < cost.rows
