"""Runs as Ray tasks: the same bits as here, also when a worker is killed, also on a node that does not see the home."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ftt.errors import FttError
from ftt.launch import Resources, launch
from ftt.launch.cluster import Cluster, cluster
from ftt.store import Home
from tests.launch.twelve import TWELVE, numbers

pytestmark = [pytest.mark.ray, pytest.mark.slow]
ray = pytest.importorskip("ray", reason="needs the extra [ray]")
TWO = Resources(workers=2, threads=1)


@pytest.fixture(scope="module")
def on_two_cores() -> Iterator[None]:
    """A cluster that is there already, as a user's would be."""
    with cluster(TWO, total=12):
        yield


def test_a_cluster_that_cannot_be_reached_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not ray.is_initialized(), "this test comes before those that use a cluster"
    monkeypatch.setenv("RAY_ADDRESS", "nonsense")
    with pytest.raises(FttError, match="cannot be reached"):
        launch(TWELVE[:1], Home(tmp_path), on="ray")


@pytest.mark.usefixtures("on_two_cores")
def test_a_cluster_gives_the_same_bits_as_this_process(expected: list[dict[str, Any]], tmp_path: Path) -> None:
    outcomes = launch(TWELVE, Home(tmp_path), on="ray", resources=TWO)
    assert numbers(outcomes) == expected
    made = [record["key"] for record in Home(tmp_path).artifacts.log() if record["stage"] == "features"]
    assert len(set(made)) == len(made) == 6
    assert not list(tmp_path.glob(".seen-*"))


@pytest.mark.usefixtures("on_two_cores")
def test_all_runs_finish_when_a_worker_is_killed(expected: list[dict[str, Any]], tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_the_first_seen() -> None:
        while not (log := Home(tmp_path).artifacts.log()):
            time.sleep(0.005)
        killed.append(log[0]["pid"])
        os.kill(killed[0], signal.SIGKILL)

    watcher = threading.Thread(target=kill_the_first_seen, daemon=True)
    watcher.start()
    outcomes = launch(TWELVE, Home(tmp_path), on="ray", resources=TWO)
    assert len(killed) == 1
    assert numbers(outcomes) == expected
    last = Home(tmp_path).artifacts.log()[-1]["pid"]
    assert last not in killed


@pytest.mark.usefixtures("on_two_cores")
def test_a_node_that_does_not_see_the_home_sends_its_results(
    expected: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ftt.launch.ray.seen_by", lambda home: nullcontext("a file that is not there"))
    home = Home(tmp_path)
    outcomes = launch(TWELVE[:2], home, on="ray", resources=TWO)
    assert numbers(outcomes) == expected[:2]
    assert not (tmp_path / "artifacts").exists(), "the node worked elsewhere"
    assert [home.runs.state(outcome.run) for outcome in outcomes] == ["done", "done"]


@pytest.mark.usefixtures("on_two_cores")
def test_a_failing_run_on_a_cluster_keeps_its_traceback_and_stops_nobody(tmp_path: Path) -> None:
    wild = replace(TWELVE[0], train=TWELVE[0].train.replace(lr=1e9))
    failed, done = launch([wild, TWELVE[1]], Home(tmp_path), on="ray", resources=TWO)
    assert "diverged" in str(failed.error)
    assert done.error is None
    assert "Traceback" in (Home(tmp_path).runs.folder(failed.run) / "failed.json").read_text()


@pytest.mark.usefixtures("on_two_cores")
def test_a_lost_cluster_that_the_caller_connected_to_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cluster, "gone", lambda self: True)
    monkeypatch.setattr("ftt.launch.ray.LISTEN", 0.0)
    with pytest.raises(FttError, match="the Ray cluster is lost") as told:
        launch(TWELVE[:1], Home(tmp_path), on="ray", resources=TWO)
    assert "give the same command again" in str(told.value)


def test_without_ray_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(FttError, match="not installed") as told:
        launch(TWELVE[:1], Home(tmp_path), on="ray")
    assert "[ray]" in str(told.value)
