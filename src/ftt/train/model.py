"""Fit a recipe and use what came out: the first two stages of Freeze then Train as one object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ftt.backbones import Backbone, create, extract
from ftt.backbones.extract import features_key
from ftt.caching import Artifact, Cache, NoCache
from ftt.data.grouped import Fittable, GroupedData, Split, require_fittable
from ftt.data.inputs import Inputs
from ftt.freeze.base import Basis, Freezer, Projection
from ftt.methods.base import Method, Task
from ftt.params import digest
from ftt.spec import Training
from ftt.train.batches import Batches
from ftt.train.checkpoint import CheckpointFile
from ftt.train.loop import fit_network
from ftt.train.network import TwoBranch, build
from ftt.train.recipe import Recipe

FloatArray = npt.NDArray[np.float32]
OpenCheckpoint = Callable[[str], CheckpointFile | None]
"""From the key of a training to the place of its checkpoints."""


class FreezeThenTrain:
    """A fitted recipe: inputs in, the features a probe is fitted on out.

    Attributes
    ----------
    backbone : Backbone
        The initial model, untouched.
    projection : Projection or None
        The frozen part.
    network : TwoBranch or None
        The trained part.
    log : list of dict
        One record per epoch: loss and accuracies on the observed labels.
    """

    def __init__(
        self,
        backbone: Backbone,
        projection: Projection | None,
        network: TwoBranch | None,
        *,
        key: str,
        cache: Cache,
        log: list[dict[str, Any]],
    ) -> None:
        self.backbone = backbone
        self.projection = projection
        self.network = network
        self.log = log
        self._key = key
        self._cache = cache

    def transform(self, split: Split | Inputs) -> FloatArray:
        """(n, m) features of a split, frozen ones first."""
        inputs, label = (split.inputs, split.name) if isinstance(split, Split) else (split, "inputs")
        if self.network is None and self.projection is None:
            return extract(self.backbone, inputs, label, self._cache)
        blocks = []
        if self.projection is not None:
            blocks.append(self.projection(extract(self.backbone, inputs, label, self._cache)))
        if self.network is not None:
            blocks.append(self._trained(self.network, inputs, label))
        return np.concatenate(blocks, axis=1)

    def _trained(self, network: TwoBranch, inputs: Inputs, label: str) -> FloatArray:
        def make() -> Artifact:
            raw = extract(network.backbone, inputs, f"{label}, trained")
            with torch.inference_mode():
                weight, bias = network.project.weight, network.project.bias
                device = weight.device
                return Artifact({"phi": (torch.from_numpy(raw).to(device) @ weight.T + bias).cpu().numpy()})

        key = digest(self._key, inputs.fingerprint())
        return self._cache.keep("trained-features", key, make).arrays["phi"]


def fit(
    data: GroupedData,
    recipe: Recipe,
    backbone: str = "lite0",
    *,
    training: Training | None = None,
    seed: int = 0,
    cache: Cache | None = None,
    checkpoints: OpenCheckpoint | None = None,
) -> FreezeThenTrain:
    """Freeze, then train.

    Parameters
    ----------
    data : GroupedData
        Only its training split is read, and of that only the observed labels.
    recipe : Recipe
        Freezer and method.
    backbone : str
        A name of `ftt ls backbones`.
    training : Training, optional
        Optimiser settings.
    seed : int
        Seed of new layers and of the order of the data.
    cache : Cache, optional
        Where features, bases and trained weights are kept between calls.

    Examples
    --------
    >>> import ftt
    >>> data = ftt.load("digits", core_noise=0.2)
    >>> model = ftt.fit(data, ftt.Recipe(freeze=ftt.PCA(p=0.25)), backbone="identity")
    >>> model.transform(data["val"]).shape
    (360, 32)
    """
    train = require_fittable(data["train"], "training")
    recipe = recipe.normal()
    cache = cache or NoCache()
    initial = create(backbone, train.inputs)
    training = training or Training()
    projection = None
    frozen = np.zeros((len(train), 0), dtype=np.float32)
    if recipe.freeze is not None:
        phi = extract(initial, train.inputs, "train", cache)
        projection = freeze(recipe.freeze, initial, train.inputs, phi, cache)
        frozen = projection(phi)
    key = digest(
        train.inputs.fingerprint(),
        digest(train.y.tolist(), train.a.tolist()),
        initial.weights_id,
        recipe.describe(),
        training.identity() if recipe.method else None,
        seed if recipe.method else None,
    )
    network, log = None, list[dict[str, Any]]()
    if recipe.method is not None:
        task = Task(n_classes=data.n_classes, n_attributes=len(data.info.attributes))
        checkpoint = checkpoints(key) if checkpoints else None
        network, log = _train(initial, train, frozen, recipe.method, training, seed, task, key, cache, checkpoint)
    return FreezeThenTrain(initial, projection, network, key=key, cache=cache, log=log)


def freeze(freezer: Freezer, backbone: Backbone, inputs: Inputs, phi: FloatArray, cache: Cache) -> Projection:
    """The frozen projection of this freezer; its basis is fitted once for every p."""
    m = backbone.num_features

    def make() -> Artifact:
        pieces = (phi[start : start + 4096] for start in range(0, len(phi), 4096))
        return Artifact(freezer.basis(pieces, m).to_arrays())

    key = digest("basis", features_key(backbone, inputs), freezer.basis_identity())
    return Basis.from_arrays(cache.keep("basis", key, make).arrays).first(freezer.frozen_dims(m))


def _train(
    backbone: Backbone,
    train: Fittable,
    frozen: FloatArray,
    method: Method,
    training: Training,
    seed: int,
    task: Task,
    key: str,
    cache: Cache,
    checkpoint: CheckpointFile | None,
) -> tuple[TwoBranch, list[dict[str, Any]]]:
    network = build(backbone, frozen.shape[1], task.n_classes, seed)

    def make() -> Artifact:
        batches = Batches(train, network.backbone, frozen, training.batch_size)
        log = fit_network(network, batches, method, training, seed, task, checkpoint=checkpoint)
        state = {name: value.detach().cpu().contiguous().numpy() for name, value in network.state_dict().items()}
        return Artifact(state, {"log": log})

    kept = cache.keep("trained", key, make)
    network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in kept.arrays.items()})
    if checkpoint is not None:
        checkpoint.discard()
    network.eval()
    return network, kept.notes["log"]
