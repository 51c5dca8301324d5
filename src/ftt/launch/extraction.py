"""Features of a split, extracted shard by shard: in this process, by worker processes, or by tasks on Ray.

A task is told the number of its shard, reads the inputs of these rows and leaves their features in the store, where
every later stage reads them (`ftt.store.artifacts`). A shard is made once. After any death the same call makes what is
missing. Batches begin at the same rows whoever makes a shard, so that features are the same to the bit.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors.numpy import load, save

from ftt import registry
from ftt import threads as pools
from ftt.backbones import Backbone, create, extract
from ftt.backbones.extract import features_key, shard_maker
from ftt.caching import Artifact, MakeRows
from ftt.data import Dataset, Inputs, Roots
from ftt.errors import FttError, unknown
from ftt.launch.launcher import ALL, Resources
from ftt.launch.local import Task, in_processes
from ftt.params import Json
from ftt.progress import track
from ftt.rows import BLOCK, Rows
from ftt.store import Home
from ftt.store.artifacts import PHI, SHARD, ShardedTable, write

SPLITS = ("train", "val", "test")
ATTEMPTS = 4
"""How often a shard may be begun whose worker dies."""


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
        Processes of this machine (this process if one worker is enough), or tasks on a Ray cluster.
    resources : Resources
        Shards at once, and threads of each.

    Returns
    -------
    Rows
        (n, m) features, read from the store by rows.
    """
    if on not in ("local", "ray"):
        raise unknown("launcher", on, ("local", "ray"))
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    inputs, network = _loaded(json.dumps(data.describe()), backbone, split, home.roots)
    key = features_key(network, inputs)
    table = ShardedTable(home.artifacts, "features", key, len(inputs), shard_maker(network, inputs, split))
    workers, threads = resources.divide(len(table))
    stored = len(inputs) > BLOCK and not (network.passes_on and inputs.kind == "features")
    missing = table.missing() if stored else []
    if len(missing) > 1 and (on == "ray" or workers > 1):
        wanted: dict[str, Json] = {"data": data.describe(), "backbone": backbone, "split": split, "key": key}
        given: dict[str, Json] = {**_places(home), "features": wanted}
        tasks = {n: Task(f"shard {n}", {**given, "shard": n, "rows": len(inputs)}) for n in missing}
        made = _on_ray(tasks, home, table, resources) if on == "ray" else _in_processes(tasks, workers, threads)
        for _ in track(made, f"shards of {split}", total=len(table), done=len(table) - len(missing)):
            pass
    with pools.limited_to(threads):
        return extract(network, inputs, split, home.artifacts)


def _places(home: Home) -> dict[str, Json]:
    return {
        "home": str(home.root.resolve()),
        "cache": str(home.roots.cache.resolve()),
        "placed": str(home.roots.data.resolve()) if home.roots.data else None,
    }


def _in_processes(tasks: dict[int, Task], workers: int, threads: int) -> Iterator[int]:
    for answer in in_processes(tasks, min(workers, len(tasks)), threads, attempts=ATTEMPTS):
        _refuse(answer.index, answer.content.get("error") if answer.content else f"its worker died ({answer.cause})")
        yield answer.index


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


def make_shard(order: dict[str, Any]) -> dict[str, Json]:
    """What a worker does with an order: make one shard and leave it in the store."""
    home = Home(Path(order["home"]), _roots(order))
    maker = _maker(order)
    ShardedTable(home.artifacts, "features", order["features"]["key"], order["rows"], maker).keep(order["shard"])
    return {"shard": order["shard"]}


def _maker(order: dict[str, Any]) -> MakeRows:
    wanted = order["features"]
    inputs, network = _loaded(json.dumps(wanted["data"]), wanted["backbone"], wanted["split"], _roots(order))
    if len(inputs) != order["rows"]:
        raise FttError(
            "this node has other data than the driver",
            given=f"{len(inputs)} rows of {wanted['split']}",
            allowed=f"{order['rows']} rows",
            hint="place the same files on every node",
        )
    return shard_maker(network, inputs, wanted["split"])


def _roots(order: dict[str, Any]) -> Roots:
    return Roots(Path(order["cache"]), Path(order["placed"]) if order["placed"] else None)


@functools.lru_cache(maxsize=1)
def _loaded(data: str, backbone: str, split: str, roots: Roots) -> tuple[Inputs, Backbone]:
    """Inputs and network, loaded once per process: a worker makes many shards."""
    loaded: Any = registry.DATASETS.build(json.loads(data)).load(roots)
    inputs: Inputs = loaded[split].inputs
    return inputs, create(backbone, inputs)
