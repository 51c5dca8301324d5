"""Features of a whole split, computed once with the deterministic transform and kept under their key.

A large split is kept in shards, which several processes may make together: see `ftt.store.artifacts`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from ftt.arrays import Float32Array, IntArray
from ftt.backbones.backbone import Backbone
from ftt.backbones.folding import FoldedOnce
from ftt.caching import Cache, MakeRows, NoCache
from ftt.data.inputs import Inputs
from ftt.params import digest
from ftt.progress import track
from ftt.rows import Rows

BATCH = 256


def features_key(backbone: Backbone, inputs: Inputs) -> str:
    """The key of the features: content of the inputs and of the weights, nothing else."""
    return digest("features", inputs.fingerprint(), backbone.weights_id)


def extract(backbone: Backbone, inputs: Inputs, label: str, cache: Cache | None = None) -> Rows:
    """φ of every input, (n, m)."""
    backbone.check(inputs)
    if backbone.passes_on and inputs.kind == "features":
        # They are kept where they come from.
        return GivenRows(inputs)
    key = features_key(backbone, inputs) if cache is not None else ""
    return (cache or NoCache()).keep_rows("features", key, len(inputs), shard_maker(backbone, inputs, label))


def shard_maker(backbone: Backbone, inputs: Inputs, label: str) -> MakeRows:
    """From a first and a last row to their features; only these rows are read."""

    network = FoldedOnce(backbone)

    def make(start: int, stop: int) -> Float32Array:
        part = inputs if stop - start == len(inputs) else inputs.take(np.arange(start, stop))
        return np.concatenate(list(_batches(backbone, network, part, label)))

    return make


class GivenRows(Rows):
    """Inputs that are features already."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.shape = (len(inputs), inputs.read(np.zeros(1, dtype=np.int64)).shape[1])

    def read(self, rows: IntArray) -> Float32Array:
        return np.ascontiguousarray(self.inputs.read(rows), dtype=np.float32)


def batches(backbone: Backbone, inputs: Inputs, label: str) -> Iterator[Float32Array]:
    """φ of the inputs, batch by batch, in order: what a freezer fits on without keeping everything."""
    yield from _batches(backbone, FoldedOnce(backbone), inputs, label)


def _batches(backbone: Backbone, network: FoldedOnce, inputs: Inputs, label: str) -> Iterator[Float32Array]:
    device = next((p.device for p in backbone.parameters()), torch.device("cpu"))
    starts = range(0, len(inputs), BATCH)
    for start in track(starts, f"features of {label}", total=len(starts)):
        x = backbone.prepare(inputs.read(np.arange(start, min(start + BATCH, len(inputs))))).to(device)
        yield network(x).cpu().numpy()
