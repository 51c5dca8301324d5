"""How long all trainings take is told once, from the pace of the first."""

from __future__ import annotations

import pytest

from ftt.launch.forecast import Forecast
from ftt.progress import At
from tests.heard import Heard


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("ftt.launch.forecast.time.monotonic", lambda: now[0])
    return now


def test_runs_elsewhere_are_weighed_by_size_and_begun_as_soon_as_there_is_room(clock: list[float]) -> None:
    told: list[float] = []
    heard = Heard()
    display = Forecast(heard, {"run a": 1.0, "run b": 1.0, "run c": 3.0}, 2, told.append)
    display.report("run a", At("features of val", 5, 9))
    for seconds, count in ((100, 10), (103, 16), (110, 30)):
        clock[0] = seconds
        display.report("run a", At("training", count, 200))
        display.report("run b", At("training", 1, 200))
    # Half a second a step: 100 s each for a and b, then 300 s for c.
    assert told == [400.0]
    clock[0] = 200.0
    display.report("run a", At("training", 180, 200))
    display.report("run a", None)
    assert told == [400.0]
    assert heard.reported[-1] == ("run a", None)
    assert len(heard.reported) == 9


def test_a_training_that_is_over_too_soon_leaves_it_to_the_next(clock: list[float]) -> None:
    told: list[float] = []
    display = Forecast(Heard(), {"run a": 1.0, "run b": 5.0}, 1, told.append)
    for who, seconds, number, total in (("a", 0, 1, 9), ("a", 2, 9, 9), ("b", 10, 10, 45), ("b", 20, 20, 45)):
        clock[0] = seconds
        display.report(f"run {who}", At("training", number, total))
    assert told == [pytest.approx(54.0)]


def test_runs_of_this_process_are_listened_to_as_well(clock: list[float]) -> None:
    told: list[float] = []
    display = Forecast(heard := Heard(), {"run a": 2.0, "run b": 1.0}, 1, told.append)
    for _ in display.track(range(100), "training", 100, 0):
        clock[0] += 1.0
    assert told == [pytest.approx(150.0)]
    display.say("done")
    assert heard.said == ["done"]


def test_a_short_training_of_this_process_leaves_it_to_the_next(clock: list[float]) -> None:
    told: list[float] = []
    display = Forecast(Heard(), {"run a": 1.0, "run b": 10.0}, 1, told.append)
    for steps in (3, 30):
        for _ in display.track(range(steps), "training", steps, 0):
            clock[0] += 1.0
    assert told == [pytest.approx(33.0)]


def test_what_is_over_soon_or_trains_nothing_is_not_foretold(clock: list[float]) -> None:
    told: list[float] = []
    display = Forecast(Heard(), {"run a": 1.0}, 1, told.append)
    assert list(display.track(range(3), "training", 3, 0)) == [0, 1, 2]
    clock[0] = 100.0
    display.report("run of another sweep", At("training", 1, 9))
    display.report("run a", At("features of test", 1, 9))
    assert told == []
    assert list(Forecast(Heard(), {}, 1, told.append).track("ab", "training", 2, 0)) == ["a", "b"]
    assert told == []
