"""Twenty-four runs on Ray's own test cluster, several nodes that come and go: the same bits, counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ftt.data import Roots
from ftt.launch import Resources, launch
from ftt.spec import identify
from ftt.store import Home
from tests.launch.twelve import TWENTY_FOUR, numbers

pytestmark = [pytest.mark.ray, pytest.mark.slow]
pytest.importorskip("ray", reason="needs the extra [ray]")

DEADLINE = 400.0
"""Seconds after which something that takes half a minute on an idle machine counts as stuck."""
DRIVER = Path(__file__).with_name("cluster_driver.py")
ALL_RUNS = {run.id for run in identify(TWENTY_FOUR, Roots.from_environment())}


class Nodes:
    """A cluster of nodes with one core and a folder for temporary files each. Runs are on them, not on the head."""

    def __init__(self, folder: Path, count: int, port: int = 0) -> None:
        from ray.cluster_utils import Cluster

        self.cluster: Any = Cluster()
        self.folder = folder
        self.nodes: list[Any] = []
        # Workers are nice by default: on a busy machine they would hardly ever run.
        polite = {"_system_config": {"worker_niceness": 0}}
        try:
            self._start(num_cpus=0, include_dashboard=False, gcs_server_port=port, **polite)
            for _ in range(count):
                self.add()
        except BaseException:
            self.end()
            raise

    def _start(self, **settings: Any) -> Any:
        """One more node. Ray gives it half a minute to start, which a busy machine may exceed."""
        for attempt in range(5):
            try:
                return self.cluster.add_node(wait=False, object_store_memory=80 * 2**20, **settings)
            except Exception as error:
                if "timed out" not in str(error) or attempt == 4:
                    raise
        raise AssertionError

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def add(self) -> None:
        own = self.folder / f"node-{len(self.nodes)}"
        own.mkdir(exist_ok=True)
        self.nodes.append(self._start(num_cpus=1, env_vars={"TMPDIR": str(own)}))

    def kill_node_of(self, worker: int) -> None:
        """End the node on which this process works, and everything else there."""
        parent = int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
        (node,) = (one for one in self.nodes if one.all_processes["raylet"][0].process.pid == parent)
        self.cluster.remove_node(node, allow_graceful=False)

    def kill_head(self) -> None:
        self.cluster.remove_node(self.cluster.head_node, allow_graceful=False)

    def alive(self) -> int:
        return sum(node["Alive"] for node in self.cluster.global_state.node_table())

    def end(self) -> None:
        self.cluster.shutdown()


@pytest.fixture(scope="module")
def one_by_one(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    home = Home(tmp_path_factory.mktemp("one-by-one"))
    return numbers(launch(TWENTY_FOUR, home, resources=Resources(workers=1, threads=1)))


@pytest.fixture(scope="module")
def four_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path_factory.mktemp("nodes"), 4)
    try:
        yield nodes
    finally:
        nodes.end()


@dataclass(frozen=True)
class Told:
    """What reached a driver: messages, and the runs of which it heard how far their training was."""

    said: list[str]
    trained: set[str]


class Driver:
    """A process that has the twenty-four done on a running cluster, found by RAY_ADDRESS."""

    def __init__(self, address: str, home: Path, disks: str) -> None:
        environment = {**os.environ, "RAY_ADDRESS": address, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.process = subprocess.Popen(
            [sys.executable, DRIVER, home, disks], env=environment, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def wait_until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + DEADLINE
        while not condition():
            assert self.process.poll() is None, "the driver ended too early"
            assert time.monotonic() < end, "it took too long"
            time.sleep(0.02)

    def told(self) -> Told:
        """What reached it; none of the runs may have failed."""
        told = json.loads(self.process.communicate(timeout=DEADLINE)[0])
        assert told["failed"] == []
        return Told(told["said"], {name.removeprefix("run ") for name in told["trained"]})


def finished(home: Path) -> dict[str, int]:
    """When the result of each run was written."""
    return {path.parent.name: path.stat().st_mtime_ns for path in home.glob("runs/*/result.json")}


def stored(home: Path) -> list[dict[str, Any]]:
    return numbers(launch(TWENTY_FOUR, Home(home), on="store"))


def trained_once(home: Path) -> None:
    """Every training is there, and none was finished twice."""
    log = [record["key"] for record in Home(home).artifacts.log() if record["stage"] == "trained"]
    assert max(Counter(log).values()) == 1
    assert len(list((home / "artifacts" / "trained").rglob("*.safetensors"))) == len(TWENTY_FOUR)


def test_one_node_of_four_is_killed_and_another_added_while_runs_go_on(
    four_nodes: Nodes, one_by_one: list[dict[str, Any]], tmp_path: Path
) -> None:
    with Driver(four_nodes.address, tmp_path, "shared") as driver:
        driver.wait_until(lambda: len(finished(tmp_path)) >= 4)
        before = finished(tmp_path)
        assert len(before) < len(TWENTY_FOUR), "nothing was left to be disturbed"
        four_nodes.kill_node_of(Home(tmp_path).artifacts.log()[-1]["pid"])
        four_nodes.add()
        told = driver.told()
    assert four_nodes.alive() >= 5, "the head, three of the four nodes, and the one that was added"
    assert stored(tmp_path) == one_by_one
    trained_once(tmp_path)
    after = finished(tmp_path)
    assert {run: after[run] for run in before} == before
    assert len({record["pid"] for record in Home(tmp_path).artifacts.log()}) >= 2, "several workers shared the store"
    assert told.trained == ALL_RUNS
    assert not list(tmp_path.glob(".seen-*"))


def test_nodes_with_homes_of_their_own_send_their_results(
    four_nodes: Nodes, one_by_one: list[dict[str, Any]], tmp_path: Path
) -> None:
    with Driver(four_nodes.address, tmp_path, "apart") as driver:
        assert driver.told().trained == ALL_RUNS
    assert stored(tmp_path) == one_by_one
    assert not (tmp_path / "artifacts").exists(), "the nodes worked elsewhere"
    made = [len(finished(home)) for home in four_nodes.folder.glob("node-*/ftt-home-*")]
    assert len(made) >= 2, "several nodes had a home of their own"
    assert sum(made) == len(TWENTY_FOUR), "every run was done on one node"


def test_the_driver_goes_on_when_the_head_is_killed_and_started_again(
    one_by_one: list[dict[str, Any]], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    first = Nodes(tmp_path, 2)
    second = None
    try:
        with Driver(first.address, home, "shared") as driver:
            driver.wait_until(lambda: len(finished(home)) >= 4)
            before = finished(home)
            assert len(before) < len(TWENTY_FOUR), "nothing was left to be disturbed"
            address = first.address
            first.kill_head()
            second = Nodes(tmp_path, 2, port=int(address.rpartition(":")[2]))
            assert second.address == address
            told = driver.told()
    finally:
        first.end()
        if second is not None:
            second.end()
    assert any(f"the Ray cluster at {address} is lost" in line for line in told.said)
    assert stored(home) == one_by_one
    trained_once(home)
    after = finished(home)
    assert {run: after[run] for run in before} == before
