"""Features of a whole split, computed once with the deterministic transform and kept under their key."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from ftt.arrays import Float32Array
from ftt.backbones.backbone import Backbone
from ftt.caching import Artifact, Cache, NoCache
from ftt.data.inputs import Inputs
from ftt.params import digest
from ftt.progress import track

BATCH = 256


def features_key(backbone: Backbone, inputs: Inputs) -> str:
    """The key of the features: content of the inputs and of the weights, nothing else."""
    return digest("features", inputs.fingerprint(), backbone.weights_id)


def extract(backbone: Backbone, inputs: Inputs, label: str, cache: Cache | None = None) -> Float32Array:
    """φ of every input.

    Returns
    -------
    (n, m) float32 array
    """
    backbone.check(inputs)

    def make() -> Artifact:
        return Artifact({"phi": np.concatenate(list(batches(backbone, inputs, label)))})

    return (cache or NoCache()).keep("features", features_key(backbone, inputs), make).arrays["phi"]


def batches(backbone: Backbone, inputs: Inputs, label: str) -> Iterator[Float32Array]:
    """φ of the inputs, batch by batch, in order: what a freezer fits on without keeping everything."""
    device = next((p.device for p in backbone.parameters()), torch.device("cpu"))
    was_training = backbone.training
    backbone.eval()
    try:
        starts = range(0, len(inputs), BATCH)
        for start in track(starts, f"features of {label}", total=len(starts)):
            rows = np.arange(start, min(start + BATCH, len(inputs)))
            with torch.inference_mode():
                yield backbone(backbone.prepare(inputs.read(rows)).to(device)).cpu().numpy()
    finally:
        backbone.train(was_training)
