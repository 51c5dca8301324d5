"""A connection to a Ray cluster: to one that is running, or to one of our own; and whether it is still there."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ftt.errors import FttError
from ftt.launch.launcher import Resources
from ftt.network import PATIENCE, waiting_for

OBJECTS = 128 * 2**20
"""Bytes of the object store of a cluster of our own; what is big goes through the home folder."""


@dataclass(frozen=True)
class Cluster:
    """A cluster this process is connected to.

    Attributes
    ----------
    ray : module
    workers, threads : int
        Tasks at once, and threads of each.
    address, raylet : str
        Where its head answers, and where its process on this node does.
    borrowed : bool
        Whether the caller of the library made the connection, which then is not ended here.
    """

    ray: Any
    workers: int
    threads: int
    address: str
    raylet: str
    borrowed: bool

    def gone(self) -> bool:
        """Whether its head no longer answers, or is a new one: then the process it had on this node has ended."""
        try:
            _knock(self.address)
            _knock(self.raylet)
        except OSError:
            return True
        return False


@contextlib.contextmanager
def cluster(resources: Resources, total: int, patience: float = 0.0) -> Iterator[Cluster]:
    """Connected to the cluster ``RAY_ADDRESS`` names, else to one of our own, which is ended afterwards.

    Parameters
    ----------
    resources : Resources
    total : int
        Tasks, of which as many at once as there is room for, unless a number is given.
    patience : float
        Seconds that a cluster which does not answer may take to come back.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Under `uv run` Ray would send this folder to every node; ftt has to be installed there anyway.
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    ray = _import()
    workers, threads = resources.workers or total, resources.threads or 1
    if ray.is_initialized():
        yield Cluster(ray, workers, threads, *_places(ray), borrowed=True)
        return
    address = os.environ.get("RAY_ADDRESS")
    if not address:
        workers, threads = resources.divide(total)
    _connect(ray, address, workers * threads, patience)
    # Ray would print on standard output, which belongs to results, whenever a node is lost.
    ray._private.worker._worker_logs_enabled = False
    try:
        yield Cluster(ray, workers, threads, *_places(ray), borrowed=False)
    finally:
        ray.shutdown()


def _places(ray: Any) -> tuple[str, str]:
    """Where the head answers, and where the process of the cluster on this node does."""
    me = ray.get_runtime_context()
    (node,) = (node for node in ray.nodes() if node["NodeID"] == me.get_node_id())
    return me.gcs_address, f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}"


def _connect(ray: Any, address: str | None, cores: int, patience: float) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    end = time.monotonic() + patience
    while True:
        try:
            if not address:
                ray.init("local", num_cpus=cores, include_dashboard=False, object_store_memory=OBJECTS, **quiet)
                return
            with waiting_for(f"the Ray cluster at {address}"):
                _knock(address)
                ray.init(address=address, **quiet)
                return
        except (OSError, OverflowError, RuntimeError, ValueError) as error:
            if time.monotonic() >= end:
                raise FttError(
                    "the Ray cluster cannot be reached" if address else "a Ray cluster cannot be started here",
                    given=address or f"{cores} cores",
                    allowed=str(error).splitlines()[0][:200],
                    hint="set RAY_ADDRESS to a running cluster, or use --on local",
                ) from None
            time.sleep(1.0)


def _knock(address: str) -> None:
    """Refuse an address at which nobody answers as gRPC does; Ray itself would try for minutes."""
    host, _, port = address.rpartition("//")[2].partition("/")[0].rpartition(":")
    if host and port.isdecimal():
        with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE) as line:
            if os.environ.get("RAY_USE_TLS", "0") == "0":
                # The beginning of HTTP/2; a server answers with its settings.
                line.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0")
                if not line.recv(1):
                    raise ConnectionError("the connection was closed")


def _import() -> Any:
    try:
        import ray
    except ImportError:
        raise FttError(
            "Ray is not installed",
            given="--on ray",
            allowed="the extra [ray]",
            hint="pip install 'freeze-then-train[ray]', or use --on local",
        ) from None
    return ray
