"""The time that is told beforehand: what runs share is counted once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ftt.data import Roots
from ftt.data.digits import Digits
from ftt.experiments import pilot
from ftt.experiments.pilot import Cost, estimate
from ftt.methods.erm import ERM
from ftt.spec import Spec, Training

MEASURE = pilot.pilot
PLACES = Roots.from_environment()
SPEC = Spec(data=Digits(), backbone="tinyconv", freeze=None, method=ERM(), train=Training(epochs=3))


@pytest.fixture(autouse=True)
def _known_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pilot, "pilot", lambda spec, roots: Cost(training=2.0, forward=1.0, train_rows=10, rows=30))


def test_a_run_costs_its_epochs_and_two_passes_over_the_data() -> None:
    assert estimate([SPEC], PLACES) == 3 * 10 * 2 + 30 + 30


def test_steps_count_where_they_are_given() -> None:
    assert estimate([replace(SPEC, train=Training(steps=4, batch_size=5))], PLACES) == 4 * 5 * 2 + 30 + 30


def test_runs_that_differ_in_probing_only_share_features_and_training() -> None:
    several = [replace(SPEC, probe=SPEC.probe.replace(dims=dims)) for dims in (2, 4, 8)]
    assert estimate(several, PLACES) == estimate([SPEC], PLACES)


def test_a_pilot_times_real_steps() -> None:
    cost = MEASURE(SPEC, PLACES)
    assert 0 < cost.forward < cost.training < 1
    assert cost.train_rows < cost.rows
