"""Freeze, then train: the first two stages, each computed once and kept under the key of what it depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ftt.arrays import Float32Array
from ftt.backbones import Backbone, create, extract
from ftt.backbones.extract import batches, features_key
from ftt.backbones.folding import fused
from ftt.caching import Artifact, Cache, NoCache
from ftt.data.grouped import Fittable, GroupedData, require_fittable
from ftt.freeze.base import Basis, Freezer, Projection, moments_of
from ftt.freeze.moments import Moments
from ftt.freeze.pca import PCA
from ftt.methods.base import Method, Task
from ftt.params import digest
from ftt.spec import Training
from ftt.train.batches import Batches, FrozenBranch
from ftt.train.checkpoint import CheckpointFile
from ftt.train.loop import OnEpoch, train_in_stages
from ftt.train.machine import Machine
from ftt.train.model import Block, FreezeThenTrain, trained_features
from ftt.train.network import TwoBranch, build
from ftt.train.recipe import Recipe

OpenCheckpoint = Callable[[str], CheckpointFile | None]
"""From the key of a training to the place of its checkpoints."""


def fit(
    data: GroupedData,
    recipe: Recipe,
    backbone: str = "lite0",
    *,
    training: Training | None = None,
    seed: int = 0,
    cache: Cache | None = None,
    checkpoints: OpenCheckpoint | None = None,
    machine: Machine | None = None,
    on_epoch: OnEpoch | None = None,
) -> FreezeThenTrain:
    """Freeze, then train.

    Parameters
    ----------
    data : GroupedData
        Only its training split is read, and of that only the observed labels.
    recipe : Recipe
        Freezer, method and join.
    backbone : str
        A name of `ftt ls backbones`.
    training : Training, optional
        Optimiser settings.
    seed : int
        Seed of new layers and of the order of the data.
    cache : Cache, optional
        Where features, bases and trained weights are kept between calls.
    checkpoints : callable, optional
        Where a training of a given key leaves its checkpoints; without it, it leaves none.
    machine : Machine, optional
        Devices; by default the best single one.
    on_epoch : callable, optional
        Gets the log (a list of records, one per epoch) whenever an epoch ends.

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
    rows = tuple(tuple(int(n) for n in row) for row in data.counts("train"))
    task = Task(n_classes=data.n_classes, n_attributes=len(data.info.attributes), rows=rows)
    job = Job(
        train, task, training or Training(), seed, cache or NoCache(), checkpoints, machine or Machine(), on_epoch
    )
    initial = create(backbone, train.inputs)
    if recipe.freeze is None and recipe.method is None:
        return FreezeThenTrain(recipe, backbone, initial, None, (Block("frozen"),), cache=job.cache)
    if recipe.freeze is None:
        network, key, log = job.train(recipe, initial, None)
        blocks: tuple[Block, ...] = (Block("trained"),)
        return FreezeThenTrain(recipe, backbone, initial, network, blocks, key=key, cache=job.cache, log=log)
    frozen = recipe.freeze.adapt(initial, train.inputs, job.cache)
    reuse = recipe.join == "late" or recipe.method is None or job.looks_features_up(recipe.method)
    projection = freeze(recipe.freeze, frozen, train, job.cache, reuse=reuse)
    if recipe.method is None:
        return FreezeThenTrain(recipe, backbone, frozen, None, (Block("frozen", projection),), cache=job.cache)
    if recipe.join == "joint":
        network, key, log = job.train(recipe, initial, FrozenPart(frozen, projection))
        blocks = (Block("frozen", projection), Block("trained"))
    else:
        network, key, log = job.train(Recipe(None, recipe.method), initial, None)
        blocks = _late_blocks(projection, frozen, network, key, train, job.cache)
    return FreezeThenTrain(recipe, backbone, frozen, network, blocks, key=key, cache=job.cache, log=log)


def freeze(freezer: Freezer, backbone: Backbone, train: Fittable, cache: Cache, *, reuse: bool = True) -> Projection:
    """The frozen projection of this freezer; its basis is fitted once for every p.

    Parameters
    ----------
    reuse : bool
        Whether the features of the training split are wanted afterwards. If not, they are never held all at once.
    """
    m, features = backbone.num_features, features_key(backbone, train.inputs)
    rows = freezer.drawn(len(train))

    def gather() -> Artifact:
        if reuse:
            phi = extract(backbone, train.inputs, "train", cache)
            return Artifact(moments_of(_pieces(phi if rows is None else phi[rows]), m).to_arrays())
        backbone.check(train.inputs)
        looked_at = train.inputs if rows is None else train.inputs.take(rows)
        return Artifact(moments_of(batches(backbone, looked_at, "train"), m).to_arrays())

    def make() -> Artifact:
        key = digest("moments", features, None if rows is None else rows.tolist())
        return Artifact(freezer.basis_of(Moments.from_arrays(cache.keep("moments", key, gather).arrays)).to_arrays())

    key = digest("basis", features, freezer.basis_identity())
    return Basis.from_arrays(cache.keep("basis", key, make).arrays).first(freezer.frozen_dims(m))


class FrozenPart(FrozenBranch):
    """The frozen branch as a function of prepared inputs, for views that no cache can hold.

    BatchNorm stays in eval mode whatever the trained branch does (it is folded away where it can be), and no gradient
    is kept.
    """

    def __init__(self, backbone: Backbone, projection: Projection) -> None:
        self.backbone = backbone
        self.projection = projection
        self._fast: Callable[[Tensor], Tensor] | None = None

    def __call__(self, x: Tensor) -> Tensor:
        if self._fast is None:
            self._fast = fused(self.backbone.to(x.device), x[:8])
        weight, bias = torch.from_numpy(self.projection.weight), torch.from_numpy(self.projection.bias)
        with torch.inference_mode():
            features: Tensor = self._fast(x) @ weight.to(x.device) + bias.to(x.device)
        # A tensor made in inference mode may not enter autograd; its copy may.
        return features.clone()


@dataclass(frozen=True)
class Job:
    """What every training of one call shares."""

    split: Fittable
    task: Task
    training: Training
    seed: int
    cache: Cache
    checkpoints: OpenCheckpoint | None
    machine: Machine
    on_epoch: OnEpoch | None

    def looks_features_up(self, method: Method) -> bool:
        """Whether frozen features of the training split are read as they are: not where every view is new.

        Several stages need them in any case: what was learned is judged on the inputs without augmentation.
        """
        return self.training.augment == "none" or len(method.stages(self.training.epochs)) > 1

    def train(
        self, recipe: Recipe, initial: Backbone, part: FrozenPart | None
    ) -> tuple[TwoBranch, str, list[dict[str, object]]]:
        """The trained network, the key it is kept under, and its log."""
        assert recipe.method is not None
        method = recipe.method
        key = digest(
            self.split.inputs.fingerprint(),
            digest(self.split.y.tolist(), self.split.a.tolist()),
            initial.weights_id,
            recipe.identity(),
            self.training.identity(),
            self.seed,
        )
        width = part.projection.weight.shape[1] if part else 0
        checkpoint = self.checkpoints(key) if self.checkpoints else None

        def fresh() -> TwoBranch:
            return build(initial, width, self.task.n_classes, self.seed)

        def make() -> Artifact:
            frozen = np.zeros((len(self.split), 0), dtype=np.float32)
            if part is not None and self.looks_features_up(method):
                frozen = part.projection(extract(part.backbone, self.split.inputs, "train", self.cache))
            loader = Batches(
                self.split,
                initial,
                frozen,
                self.training.batch_size,
                views=self.training.augment,
                branch=part,
                sampling=self.training.sampling,
            )
            network, log = train_in_stages(
                fresh,
                loader,
                method,
                self.training,
                self.seed,
                self.task,
                fabric=self.machine.fabric(self.training.precision),
                checkpoint=checkpoint,
                on_epoch=self.on_epoch,
            )
            state = {name: value.detach().cpu().contiguous().numpy() for name, value in network.state_dict().items()}
            return Artifact(state, {"log": log})

        kept = self.cache.keep("trained", key, make)
        network = fresh()
        network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in kept.arrays.items()})
        if checkpoint is not None:
            checkpoint.discard()
        return network.eval(), key, kept.notes["log"]


def _late_blocks(
    first: Projection, frozen: Backbone, network: TwoBranch, key: str, train: Fittable, cache: Cache
) -> tuple[Block, Block]:
    """Leading directions of the initial and of the trained features, each brought to unit mean variance on train."""
    phi = trained_features(network, train.inputs, "train", "projected", key, cache)

    def make() -> Artifact:
        return Artifact(PCA().basis(_pieces(phi), phi.shape[1]).to_arrays())

    basis = Basis.from_arrays(cache.keep("basis", digest("late", key, train.inputs.fingerprint()), make).arrays)
    second = basis.first(frozen.num_features - first.weight.shape[1])
    return (
        Block("frozen", first, _unit_scale(first(extract(frozen, train.inputs, "train", cache)))),
        Block("trained", second, _unit_scale(second(phi))),
    )


def _unit_scale(features: Float32Array) -> float:
    spread = float(np.sqrt(features.var(axis=0, dtype=np.float64).mean()))
    return 1 / spread if spread > 0 else 1.0


def _pieces(phi: Float32Array) -> list[Float32Array]:
    return [phi[start : start + 4096] for start in range(0, len(phi), 4096)]
