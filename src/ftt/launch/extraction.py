"""Features of a split, extracted shard by shard: in this process, by worker processes, or by tasks on Ray.

Whoever makes a shard reads the inputs of its rows and leaves their features in the store, where every later stage reads
them (`ftt.store.artifacts`). A shard is made once. After any death the same call makes what is missing. Batches begin
at the same rows whoever makes a shard, so that features are the same to the bit.

Worker processes help this one, which needs the network anyway. They are copies of it, which begin at once, where a
process can be copied; elsewhere programs, for which nobody waits. All take shards that nobody has begun, so a worker
that dies leaves nothing undone. Programs that were asked for by number start at once and load the data beside this
process; otherwise their number follows from the data.
"""

from __future__ import annotations

import contextlib
import functools
import json
import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from filelock import Timeout
from safetensors.numpy import load, save

from ftt import registry
from ftt import threads as pools
from ftt.backbones import Backbone, create, extract
from ftt.backbones.extract import features_key, shard_maker
from ftt.caching import Artifact, MakeRows
from ftt.data import Dataset, Inputs, Roots
from ftt.errors import FttError, unknown
from ftt.launch.copied import Copy, can_be_copied
from ftt.launch.launcher import ALL, Resources
from ftt.launch.local import Inbox, Task, Worker
from ftt.params import Json
from ftt.progress import say, track
from ftt.rows import BLOCK, Rows
from ftt.store import Home
from ftt.store.artifacts import PHI, SHARD, ShardedTable, write

SPLITS = ("train", "val", "test")


def extract_features(
    data: Dataset,
    backbone: str,
    home: Home,
    *,
    split: str = "train",
    on: str = "local",
    resources: Resources = ALL,
) -> Rows:
    """Features of a split, which runs with the same data and backbone then find in the store.

    Parameters
    ----------
    data : Dataset
        Loaded by every task for itself; a task reads the inputs of its own rows only.
    backbone : str
        A name of `ftt ls backbones`.
    home : Home
        Where features are kept and where data may be. Nodes of a Ray cluster that do not see it send their shards here.
    split : {"train", "val", "test"}
    on : {"local", "ray"}
        This process and others beside it on this machine, or tasks on a Ray cluster.
    resources : Resources
        Shards at once, one of them in this process if it is local, and threads of each.

    Returns
    -------
    Rows
        (n, m) features, read from the store by rows.
    """
    if on not in ("local", "ray"):
        raise unknown("launcher", on, ("local", "ray"))
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    wanted: dict[str, Json] = {"data": data.describe(), "backbone": backbone, "split": split}
    order: dict[str, Json] = {**_places(home), "features": wanted}
    with _Helpers() as helpers:
        if on == "local" and resources.workers is not None:
            helpers.start_ahead(order, *resources.divide(resources.workers))
        inputs, network = _loaded(order)
        order |= {"rows": len(inputs), "key": features_key(network, inputs)}
        table = _table(order)
        workers, threads = resources.divide(len(table))
        whole = len(inputs) <= BLOCK or (network.passes_on and inputs.kind == "features")
        missing = [] if whole else table.missing()
        if on == "ray" and len(missing) > 1:
            tasks = {n: Task(f"shard {n}", {**order, "shard": n}) for n in missing}
            made = _on_ray(tasks, home, table, resources)
            for _ in track(made, f"shards of {split}", total=len(table), done=len(table) - len(missing)):
                pass
        if on == "local":
            helpers.share(order, missing, min(workers, len(missing)), threads)
        with pools.limited_to(threads):
            return extract(network, inputs, split, home.artifacts)


class _Helpers:
    """Worker processes that make shards, too; they are ended when all shards are there."""

    def __init__(self) -> None:
        self.inbox: Inbox = queue.Queue()
        self.programs: list[Worker] = []
        self.copies: list[Copy] = []

    def start_ahead(self, order: dict[str, Json], processes: int, threads: int) -> None:
        """Have all but one of so many processes load data and network, if they cannot be copies of this one."""
        if not can_be_copied(threads):
            for _ in range(1, processes):
                self._start(threads).send({**order, "shards": []})

    def share(self, order: dict[str, Json], missing: list[int], processes: int, threads: int) -> None:
        """Have all but one of so many processes make what is missing, each beginning elsewhere."""
        for number in range(1, processes):
            begin = number * len(missing) // processes
            part = {**order, "shards": [*missing[begin:], *missing[:begin]]}
            if can_be_copied(threads):
                self.copies.append(Copy(part))
            else:
                ahead = number <= len(self.programs)
                program = self.programs[number - 1] if ahead else self._start(threads)
                program.send(part)

    def _start(self, threads: int) -> Worker:
        self.programs.append(Worker(threads, self.inbox))
        return self.programs[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        if failed is None:
            for trouble in self._troubles():
                say(f"a worker {trouble}; its rows were left to the others")
        helpers: list[Worker | Copy] = [*self.programs, *self.copies]
        for helper in helpers:
            helper.end()

    def _troubles(self) -> Iterator[str]:
        while not self.inbox.empty():
            program, message = self.inbox.get()
            if message is None:
                yield f"died ({program.cause()})"
            elif "error" in message:
                yield f"failed ({message['error']})"
        for copy in self.copies:
            if (trouble := copy.trouble()) is not None:
                yield trouble


def _places(home: Home) -> dict[str, Json]:
    return {
        "home": str(home.root.resolve()),
        "cache": str(home.roots.cache.resolve()),
        "placed": str(home.roots.data.resolve()) if home.roots.data else None,
    }


def _on_ray(tasks: dict[int, Task], home: Home, table: ShardedTable, resources: Resources) -> Iterator[int]:
    from ftt.launch.ray import in_tasks

    for number, sent in in_tasks(make_shard_on_node, tasks, home, resources, len(tasks)):
        if isinstance(sent, Exception):
            _refuse(number, str(sent).strip().splitlines()[-1])
        elif sent and not table.path(number).is_file():
            # A node that does not see the home folder: its shard is kept here.
            write(table.path(number), Artifact({PHI: load(sent)[PHI]}))
        yield number


def _refuse(number: int, error: str | None) -> None:
    if error is not None:
        raise FttError(
            f"the features of rows {number * SHARD} to {(number + 1) * SHARD - 1} cannot be extracted",
            given=error,
            allowed="inputs that can be read, and a worker that lives",
            hint="the same command again makes what is missing",
        )


def make_shard_on_node(order: dict[str, Any], token: str) -> bytes:
    """The task on Ray: leaves the shard in the home folder if this node sees it, else returns it."""
    if (Path(order["home"]) / token).is_file():
        make_shard(order)
        return b""
    first = order["shard"] * SHARD
    return save({PHI: _maker(order)(first, min(first + SHARD, order["rows"]))})


def make_shard(order: dict[str, Any]) -> None:
    """Make one shard and leave it in the store."""
    _table(order).keep(order["shard"])


def make_shards(order: dict[str, Any]) -> dict[str, Json]:
    """What a worker does with an order: load what it is about, and make those shards that nobody else has begun."""
    numbers = order["shards"]
    if not numbers:
        _loaded(order)
        return {"shards": []}
    table = _table(order)
    for number in numbers:
        with contextlib.suppress(Timeout):
            table.keep(number, wait=False)
    return {"shards": numbers}


def _table(order: dict[str, Any]) -> ShardedTable:
    home = Home(Path(order["home"]), _roots(order))
    return ShardedTable(home.artifacts, "features", order["key"], order["rows"], _maker(order))


def _maker(order: dict[str, Any]) -> MakeRows:
    inputs, network = _loaded(order)
    split = order["features"]["split"]
    if len(inputs) != order["rows"]:
        raise FttError(
            "this node has other data than the driver",
            given=f"{len(inputs)} rows of {split}",
            allowed=f"{order['rows']} rows",
            hint="place the same files on every node",
        )
    return shard_maker(network, inputs, split)


def _roots(order: dict[str, Any]) -> Roots:
    return Roots(Path(order["cache"]), Path(order["placed"]) if order["placed"] else None)


def _loaded(order: dict[str, Any]) -> tuple[Inputs, Backbone]:
    """Inputs and network of an order."""
    wanted = order["features"]
    return _load(json.dumps(wanted["data"]), wanted["backbone"], wanted["split"], _roots(order))


@functools.lru_cache(maxsize=1)
def _load(data: str, backbone: str, split: str, roots: Roots) -> tuple[Inputs, Backbone]:
    """Once per process: a worker makes many shards."""
    loaded: Any = registry.DATASETS.build(json.loads(data)).load(roots)
    inputs: Inputs = loaded[split].inputs
    return inputs, create(backbone, inputs)
