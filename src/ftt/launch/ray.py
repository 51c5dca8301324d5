"""Runs on a Ray cluster: one task per Spec, tried again where a worker or a node dies.

A node that sees the home folder works in it, so that features and trainings are shared by all; one that does not keeps
a folder of its own and sends the result home. Whether it sees it is found out with a token file.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ftt import threads as pools
from ftt.errors import FttError
from ftt.launch.launcher import Ended, Resources
from ftt.launch.worker import answered, carry_out, in_one_line, order
from ftt.network import PATIENCE, waiting_for
from ftt.params import digest
from ftt.spec import Run
from ftt.store import Home

RETRIES = 3
"""How often Ray may begin a run anew whose worker died."""

OBJECTS = 128 * 2**20
"""Bytes of the object store of a cluster of our own; what is big goes through the home folder."""


def run_on_ray(runs: Mapping[int, Run], home: Home, resources: Resources, total: int) -> Iterator[Ended]:
    """As tasks; on a running cluster as many at once as it has room for, unless a number is given."""
    with cluster(resources, total) as (ray, workers, threads), seen_by(home) as token:
        task = remote(ray, carry_out_on_node, threads)
        waiting = iter(runs.items())
        running: dict[Any, int] = {}
        try:
            while True:
                for index, run in itertools.islice(waiting, workers - len(running)):
                    text = json.dumps(order(run, home))
                    running[task.remote(text, token, threads, str(Path.cwd()))] = index
                if not running:
                    return
                (ready,), _ = ray.wait(list(running), num_returns=1)
                yield _ended(ray, ready, running.pop(ready), runs, home)
        finally:
            for ref in running:
                ray.cancel(ref, force=True)


def _ended(ray: Any, ref: Any, index: int, runs: Mapping[int, Run], home: Home) -> Ended:
    try:
        answer: dict[str, Any] = json.loads(ray.get(ref))
    except ray.exceptions.RayError as error:
        return Ended(index, None, in_one_line(error).partition(" · ")[0], str(error), 1 + RETRIES)
    end = answered(index, answer)
    if end.result is not None and home.runs.find(end.result.run) is None:
        # A node with a folder of its own: the result is kept here as if it had been made here.
        with home.runs.begin(end.result.run):
            home.runs.finish(end.result.run, end.result)
    return end


def carry_out_on_node(text: str, token: str, threads: int, folder: str) -> str:
    """The task: an order as JSON in, an answer as JSON out."""
    import torch  # noqa: F401 (`limited_to` sets the threads of what is loaded)

    given: dict[str, Any] = json.loads(text)
    # Paths of data may be relative to where the driver stands.
    there = contextlib.chdir(folder) if Path(folder).is_dir() else contextlib.nullcontext()
    with there, pools.limited_to(threads):
        return json.dumps(carry_out(given, root_on_node(Path(given["home"]), token)))


def root_on_node(root: Path, token: str) -> Path:
    """The driver's home if this node sees it, else one of this node, the same for every task of that driver."""
    return root if (root / token).is_file() else Path(tempfile.gettempdir()) / f"ftt-home-{digest(str(root))[:16]}"


@contextlib.contextmanager
def seen_by(home: Home) -> Iterator[str]:
    """A file in the home folder, by which nodes can tell whether they see that folder."""
    token = f".seen-{uuid.uuid4().hex}"
    home.root.mkdir(parents=True, exist_ok=True)
    (home.root / token).touch()
    try:
        yield token
    finally:
        (home.root / token).unlink(missing_ok=True)


@contextlib.contextmanager
def cluster(resources: Resources, total: int) -> Iterator[tuple[Any, int, int]]:
    """(ray, workers, threads): connected to the cluster ``RAY_ADDRESS`` names, else to one of our own, ended after."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Under `uv run` Ray would send this folder to every node; ftt has to be installed there anyway.
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    ray = _import()
    workers, threads = resources.workers or total, resources.threads or 1
    if ray.is_initialized():
        yield ray, workers, threads
        return
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    address = os.environ.get("RAY_ADDRESS")
    if not address:
        workers, threads = resources.divide(total)
    cores = workers * threads
    try:
        if address:
            with waiting_for(f"the Ray cluster at {address}"):
                _knock(address)
                ray.init(address=address, **quiet)
        else:
            ray.init("local", num_cpus=cores, include_dashboard=False, object_store_memory=OBJECTS, **quiet)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        raise FttError(
            "the Ray cluster cannot be reached" if address else "a Ray cluster cannot be started here",
            given=address or f"{cores} cores",
            allowed=str(error).splitlines()[0][:200],
            hint="set RAY_ADDRESS to a running cluster, or use --on local",
        ) from None
    try:
        yield ray, workers, threads
    finally:
        ray.shutdown()


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


def remote(ray: Any, function: Any, threads: int) -> Any:
    """A function of this package as a task that takes `threads` cores. Ray sends its name, not its code."""
    options = {"num_cpus": threads, "max_retries": RETRIES, "runtime_env": {"env_vars": pools.environment(threads)}}
    return ray.remote(**options)(function)


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
