"""Moments of features over shards: each task reads, extracts and sums its own rows; the sums are merged in order.

What travels is of the order m², whatever the number of images. Rows are summed in float64 and merged in the order of
the shards, whichever ends first, so that neither the number of shards nor the place they ran at shows in the first ten
digits. Features go through the store: a shard that is done is not extracted again.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

from ftt import registry
from ftt import threads as pools
from ftt.backbones import create, extract
from ftt.data import Dataset, Roots
from ftt.errors import FttError, unknown
from ftt.freeze.moments import Moments
from ftt.launch.launcher import ALL, Resources
from ftt.params import Json
from ftt.progress import track
from ftt.store import Home


def moments_by_shards(
    data: Dataset,
    backbone: str,
    home: Home,
    *,
    shards: int,
    on: str = "local",
    resources: Resources = ALL,
) -> Moments:
    """Moments of the features of the training split.

    Parameters
    ----------
    data : Dataset
        Read by every task for itself; a task looks at the inputs of its own rows only.
    backbone : str
        A name of `ftt ls backbones`.
    home : Home
        Where features are kept and where data may be; every node has to see both.
    shards : int
        Number of runs of neighbouring rows that the split is cut into.
    on : str
        "local": one after another in this process. "ray": a task each.
    resources : Resources
        Tasks at once (on Ray) and threads of each.
    """
    if on not in ("local", "ray"):
        raise unknown("launcher", on, ("local", "ray"))
    if shards < 1:
        raise FttError("shards must be a positive integer", given=shards, allowed="shards >= 1")
    given: dict[str, Json] = {
        "data": data.describe(),
        "backbone": backbone,
        "cache": str(home.roots.cache.resolve()),
        "placed": str(home.roots.data.resolve()) if home.roots.data else None,
        "home": str(home.root.resolve()),
    }
    orders = [json.dumps({**given, "shard": shard, "shards": shards}) for shard in range(shards)]
    sums = _on_ray(orders, resources) if on == "ray" else _here(orders, resources)
    # One by one: a thousand shards of m² numbers do not fit in memory together.
    return functools.reduce(Moments.merge, (Moments.from_arrays(load(part)) for part in track(sums, "shards", shards)))


def _here(orders: list[str], resources: Resources) -> Iterator[bytes]:
    with pools.limited_to(resources.threads or pools.available()):
        yield from map(sum_shard, orders)


def _on_ray(orders: list[str], resources: Resources) -> Iterator[bytes]:
    from ftt.launch.ray import cluster, remote

    with cluster(resources, len(orders)) as (ray, workers, threads):
        task = remote(ray, sum_shard_on_node, threads)
        waiting = iter(orders)
        # Twice as many as run at once: the next are ready, and what has ended early does not pile up.
        running = deque(task.remote(text, threads) for text in itertools.islice(waiting, 2 * workers))
        while running:
            yield ray.get(running.popleft())
            running.extend(task.remote(text, threads) for text in itertools.islice(waiting, 1))


def sum_shard_on_node(text: str, threads: int) -> bytes:
    """The task on Ray."""
    with pools.limited_to(threads):
        return sum_shard(text)


def sum_shard(text: str) -> bytes:
    """Moments of one shard as the bytes of a safetensors file."""
    given = json.loads(text)
    roots = Roots(Path(given["cache"]), Path(given["placed"]) if given["placed"] else None)
    inputs = registry.DATASETS.build(given["data"]).load(roots)["train"].inputs
    bounds = np.linspace(0, len(inputs), given["shards"] + 1).astype(np.int64)
    start, end = bounds[given["shard"]], bounds[given["shard"] + 1]
    network = create(given["backbone"], inputs)
    moments = Moments(network.num_features)
    if end > start:
        rows = inputs.take(np.arange(start, end))
        features = extract(network, rows, f"shard {given['shard']}", Home(Path(given["home"]), roots).artifacts)
        moments.add(features.astype(np.float64))
    return save(moments.to_arrays())
