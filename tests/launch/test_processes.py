"""Several workers, several drivers, sudden deaths: the same bits, each run computed once, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ftt.data import Roots
from ftt.launch import Resources, launch, local
from ftt.launch.local import Worker
from ftt.spec import identify
from ftt.store import Home
from tests.launch.twelve import TWELVE, numbers

pytestmark = pytest.mark.slow
TWO = Resources(workers=2, threads=1)
ALL_RUNS = sorted(run.id for run in identify(TWELVE, Roots.from_environment()))


def drive(home: Path, workers: int = 1) -> subprocess.Popen[str]:
    command = [sys.executable, str(Path(__file__).with_name("driver.py")), str(home), str(workers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


def finished(home: Path) -> dict[str, int]:
    """When the result of each run was written."""
    return {path.parent.name: path.stat().st_mtime_ns for path in (home / "runs").glob("*/result.json")}


def made(home: Path, stage: str) -> list[str]:
    return [record["key"] for record in Home(home).artifacts.log() if record["stage"] == stage]


def workers_of(home: Path) -> set[int]:
    """Processes that made something and are still there."""
    return {record["pid"] for record in Home(home).artifacts.log() if Path(f"/proc/{record['pid']}").exists()}


def stored(home: Path) -> list[dict[str, Any]]:
    """The numbers of all twelve as a driver finds them in the store."""
    return numbers(launch(TWELVE, Home(home)))


def test_two_workers_give_the_same_bits_and_make_what_they_share_once(
    expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    outcomes = launch(TWELVE, Home(tmp_path), resources=TWO)
    assert numbers(outcomes) == expected
    assert len(set(made(tmp_path, "features"))) == len(made(tmp_path, "features")) == 6
    assert len(made(tmp_path, "basis")) == 2
    workers = {record["pid"] for record in Home(tmp_path).artifacts.log()}
    assert len(workers) == 2
    assert os.getpid() not in workers


def test_workers_started_ahead_are_used_one_that_died_is_replaced_and_one_too_many_is_ended(
    expected: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Worker] = []

    def start(threads: int, inbox: local.Inbox) -> Worker:
        started.append(Worker(threads, inbox))
        return started[-1]

    monkeypatch.setattr(local, "Worker", start)
    with local.started_ahead(4, threads=1):
        started[0].process.kill()
        started[0].process.wait()
        assert numbers(launch(TWELVE[:4], Home(tmp_path), resources=TWO)) == expected[:4]
        assert started[3].process.poll() is None
    assert len(started) == 4
    assert all(worker.process.poll() is not None for worker in started)
    workers = {record["pid"] for record in Home(tmp_path).artifacts.log()}
    assert workers == {worker.process.pid for worker in started[1:3]}


def test_a_run_whose_worker_dies_is_tried_once_more_and_the_others_go_on(
    expected: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlucky, doomed = TWELVE[0].describe(), TWELVE[1].describe()
    died: Counter[str] = Counter()
    send = local.Worker.send

    def send_and_kill(worker: local.Worker, message: dict[str, Any]) -> None:
        send(worker, message)
        name = "unlucky" if message["spec"] == unlucky else "doomed" if message["spec"] == doomed else ""
        if name == "doomed" or (name == "unlucky" and not died[name]):
            died[name] += 1
            os.kill(worker.process.pid, signal.SIGKILL)

    monkeypatch.setattr(local.Worker, "send", send_and_kill)
    home = Home(tmp_path)
    outcomes = launch(TWELVE[:4], home, resources=TWO)
    assert died == {"unlucky": 1, "doomed": 2}
    assert outcomes[1].error == "its worker died 2 times (signal 9)"
    assert home.runs.state(outcomes[1].run) == "failed"
    assert json.loads((home.runs.folder(outcomes[1].run) / "failed.json").read_text())["attempts"] == 2
    assert numbers([outcomes[0], *outcomes[2:]]) == [expected[0], *expected[2:4]]


def test_a_killed_driver_takes_its_workers_with_it_and_finished_runs_are_not_run_again(
    expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    first = drive(tmp_path, workers=2)
    wait_until(lambda: len(finished(tmp_path)) >= 3)
    first.kill()
    first.communicate()
    wait_until(lambda: not workers_of(tmp_path), seconds=20)
    before = finished(tmp_path)
    assert 3 <= len(before) < 12
    out, err = drive(tmp_path).communicate(timeout=120)
    assert sorted([*json.loads(out), *before]) == ALL_RUNS, err
    assert {run: when for run, when in finished(tmp_path).items() if run in before} == before
    assert stored(tmp_path) == expected


def test_two_drivers_of_one_sweep_compute_each_run_once(expected: list[dict[str, Any]], tmp_path: Path) -> None:
    drivers = [drive(tmp_path), drive(tmp_path)]
    answers = [json.loads(driver.communicate(timeout=120)[0]) for driver in drivers]
    assert sorted([*answers[0], *answers[1]]) == ALL_RUNS
    assert len(set(made(tmp_path, "trained"))) == len(made(tmp_path, "trained")) == 12
    assert len(made(tmp_path, "features")) == 6
    assert stored(tmp_path) == expected


def test_an_interrupted_driver_ends_its_workers(tmp_path: Path) -> None:
    for attempt in range(3):
        home = tmp_path / str(attempt)
        driver = drive(home, workers=2)
        wait_until(lambda home=home: len(finished(home)) >= 1)  # type: ignore[misc]
        driver.send_signal(signal.SIGINT)
        driver.communicate(timeout=30)
        assert not workers_of(home)
        if len(finished(home)) < 12:
            return
        # On a busy machine all runs may have ended before the signal came: nothing was shown.
    pytest.fail("three sweeps ended before they could be interrupted")
