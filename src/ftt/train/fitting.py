"""Freeze, then train: the first two stages, each computed once and kept under the key of what it depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ftt import registry
from ftt.arrays import Float32Array, IntArray
from ftt.backbones import Backbone, create, extract
from ftt.backbones.extract import batches, features_key
from ftt.backbones.folding import FoldedOnce, fused
from ftt.caching import Artifact, Cache
from ftt.data.grouped import Fittable, GroupedData, require_fittable
from ftt.freeze.freezer import Basis, Freezer, Projection, moments_of
from ftt.freeze.moments import Moments
from ftt.freeze.pca import PCA
from ftt.methods.method import Method, Task
from ftt.params import digest
from ftt.recipe import Recipe, as_recipe
from ftt.rows import BLOCK, InMemory, Mapped, Rows, SideBySide
from ftt.settings import BACKBONES, setting, training_for
from ftt.sources.source import Start
from ftt.spec import Training
from ftt.train.batches import Batches, Frozen
from ftt.train.loop import Trainer
from ftt.train.model import Block, FreezeThenTrain, Trained, Untrained
from ftt.train.selection import Validation
from ftt.train.services import NO_SERVICES, Services
from ftt.train.two_branch import TwoBranch, build

LAYERS = 5
"""Raised when layers compute with other rounding: a training may then not be resumed from an older checkpoint."""


def fit(
    data: GroupedData,
    recipe: Recipe | str = "ftt",
    backbone: str | None = None,
    *,
    training: Training | None = None,
    seed: int = 0,
    services: Services = NO_SERVICES,
) -> FreezeThenTrain:
    """Freeze, then train.

    Parameters
    ----------
    data : GroupedData
        Its training split is read with the observed labels; recipes whose sources use the target read ``val`` too.
    recipe : Recipe or str
        Freezer, method and join, or the name of a preset (`ftt ls recipes`).
    backbone : str, optional
        A name of `ftt ls backbones`; by default that of `ftt run` for this data set.
    training : Training, optional
        How the supervised stage is optimised; by default as `ftt run` does for this data set.
    seed : int
        Seed of new layers and of the order of the data.
    services : Services
        Cache, checkpoints, devices.

    Examples
    --------
    >>> import ftt
    >>> data = ftt.load("digits", core_noise=0.2)
    >>> model = ftt.fit(data, ftt.Recipe(freeze=ftt.PCA(p=0.25)), backbone="identity")
    >>> model.transform(data["val"]).shape
    (360, 32)
    """
    recipe = as_recipe(recipe)
    usual = setting(data.source.name) if data.source else None
    name = backbone or (usual.backbone if usual else None) or BACKBONES[data.inputs.kind]
    job = job_of(data, recipe, name, training=training or training_for(data.source), seed=seed, services=services)
    model = FreezeThenTrain(recipe, name, job.fit(recipe))
    model.cache = services.cache
    return model


def job_of(
    data: GroupedData,
    recipe: Recipe,
    backbone: str,
    *,
    training: Training,
    seed: int,
    services: Services = NO_SERVICES,
) -> Job:
    """What `fit` does, before it is done: its keys can be asked for."""
    train = require_fittable(data["train"], "training")
    rows = tuple(tuple(int(n) for n in row) for row in data.counts("train"))
    chooses = recipe.trains and training.select != "last"
    return Job(
        split=train,
        task=Task(n_classes=data.n_classes, n_attributes=len(data.info.attributes), rows=rows),
        initial=create(backbone, train.inputs),
        training=training,
        seed=seed,
        services=services,
        target=require_fittable(data["val"], "training") if recipe.uses_target or chooses else None,
    )


@dataclass(frozen=True)
class Job:
    """One fit: the rows, what is trained on them and how, its surroundings, and the target split where one is used."""

    split: Fittable
    task: Task
    initial: Backbone
    training: Training
    seed: int
    services: Services
    target: Fittable | None = None

    def fit(self, recipe: Recipe) -> tuple[Block, ...]:
        """The blocks of features of a recipe."""
        freezer, method = recipe.freeze, recipe.method
        if recipe.sources:
            return self.side_by_side([block for source in recipe.sources for block in source.blocks(self)])
        if freezer is None:
            return (self.initial_block() if method is None else Block(self.train(recipe)),)
        frozen = freezer.adapt(self.initial, self.split.inputs, self.services.cache)
        reuse = recipe.join == "late" or method is None or self.looks_features_up(method)
        projection = freeze(freezer, frozen, self.split, self.services.cache, reuse=reuse)
        first = Block(Untrained(frozen), projection)
        if method is None:
            return (first,)
        if recipe.join == "joint":
            return first, Block(self.train(recipe, FrozenBranch(frozen, projection)))
        trained = self.train(Recipe(None, method))
        second = Block(trained, self.leading(trained).first(frozen.num_features - first.width))
        return self.side_by_side([first, second])

    def initial_block(self, backbone: Backbone | None = None) -> Block:
        """All features of the initial network, or of another without new layers."""
        return Block(Untrained(backbone or self.initial))

    def train_alone(self, method: str, start: Start | None = None) -> Block:
        """All features of a network that a method trains without a frozen part, from another start if one is given."""
        return Block(self.train(Recipe(None, registry.METHODS.build({"name": method})), start=start))

    def own_head(self, block: Block) -> Block:
        """The logits of a trained network's own head, (n, K), in place of the features before it."""
        assert isinstance(block.branch, Trained)
        head = block.branch.network.head
        weight, bias = (value.detach().cpu().numpy() for value in (head.weight.T, head.bias))
        return replace(block, projection=Projection(np.ascontiguousarray(weight), bias, 1.0))

    def features(self, blocks: Sequence[Block], split: Fittable) -> Float32Array:
        """(n, ·) features of these blocks side by side."""
        cache = self.services.cache
        return SideBySide([b.features(split.inputs, split.name, "projected", cache) for b in blocks]).array()

    def to_unit_variance(self, block: Block) -> Block:
        """The block with a mean variance of one on the training split."""
        phi = block.features(self.split.inputs, self.split.name, "projected", self.services.cache)
        return replace(block, scale=block.scale * _unit_scale(phi))

    def side_by_side(self, blocks: Sequence[Block]) -> tuple[Block, ...]:
        """Blocks that meet at probing: brought to one scale, since one penalty serves all of them."""
        return tuple(blocks) if len(blocks) == 1 else tuple(self.to_unit_variance(block) for block in blocks)

    def require_target(self, purpose: str) -> Fittable:
        """The target split, for sources that look at it."""
        assert self.target is not None
        return require_fittable(self.target, purpose)

    def looks_features_up(self, method: Method) -> bool:
        """Whether frozen features of the training split are read from a table: not where every view is new.

        Several stages need the table in any case: what was learned is judged on the inputs without augmentation.
        """
        return self.training.augment == "none" or len(method.stages(self.training.epochs)) > 1

    def key(self, recipe: Recipe) -> str:
        """What the weights of a training depend on."""
        return digest(
            self.split.inputs.fingerprint(),
            digest(self.split.y.tolist(), self.split.a.tolist(), self.task.n_classes),
            self.initial.weights_id,
            LAYERS,
            recipe.identity(),
            self.training.identity(),
            self.seed,
            *([] if self.split.environment is None else [digest(self.split.environment.tolist())]),
            *([] if self.training.select == "last" else [self._judged_on()]),
            *([] if self.split.soft is None else [digest("soft", self.split.soft.tolist())]),
        )

    def _judged_on(self) -> str:
        """What the epochs are compared on."""
        target = self.require_target("the choice of an epoch")
        return digest(target.inputs.fingerprint(), target.y.tolist(), target.a.tolist())

    def train(self, recipe: Recipe, branch: FrozenBranch | None = None, start: Start | None = None) -> Trained:
        """The training of a recipe, resumed or looked up where that is possible."""
        key = self.key(recipe) if start is None else digest(self.key(recipe), start.identity)
        checkpoint = self.services.checkpoints(key) if self.services.checkpoints else None
        width = branch.projection.weight.shape[1] if branch else 0

        def fresh() -> TwoBranch:
            network = build(self.initial, width, self.task.n_classes, self.seed)
            if start is not None:
                start.put_into(network)
            return network

        def make() -> Artifact:
            assert recipe.method is not None
            trainer = Trainer(
                method=recipe.method,
                training=self.training,
                seed=self.seed,
                task=self.task,
                batches=Batches(self.split, self.initial, self._frozen(recipe.method, branch), self.training),
                fabric=self.services.machine.fabric(self.training.precision),
                checkpoint=checkpoint,
                on_epoch=self.services.on_epoch,
                validation=self._validation(branch),
            )
            network, log = trainer.train(fresh)
            state = {name: value.detach().cpu().contiguous().numpy() for name, value in network.state_dict().items()}
            return Artifact(state, {"log": log})

        kept = self.services.cache.keep("trained", key, make)
        network = fresh()
        network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in kept.arrays.items()})
        if checkpoint is not None:
            checkpoint.discard()
        return Trained(network.eval(), key, kept.notes["log"])

    def _frozen(self, method: Method, branch: FrozenBranch | None) -> Frozen:
        if branch is None or not self.looks_features_up(method):
            return Frozen(InMemory(np.zeros((len(self.split), 0), dtype=np.float32)), branch)
        phi = extract(branch.backbone, self.split.inputs, "train", self.services.cache)
        return Frozen(Mapped(phi, branch.projection, branch.projection.weight.shape[1]), branch)

    def _validation(self, branch: FrozenBranch | None) -> Validation | None:
        if self.training.select == "last":
            return None
        target = self.require_target("the choice of an epoch")
        frozen = np.zeros((len(target), 0), dtype=np.float32)
        if branch is not None:
            frozen = branch.projection(
                extract(branch.backbone, target.inputs, target.name, self.services.cache).array()
            )
        return Validation(target, self.initial, frozen)

    def leading(self, trained: Trained) -> Basis:
        """All principal directions of a trained network's features, leading ones first."""
        inputs, cache = self.split.inputs, self.services.cache

        def make() -> Artifact:
            phi = trained.features(inputs, "train", "projected", cache)
            return Artifact(PCA().basis(phi.blocks(), phi.shape[1]).to_arrays())

        key = digest("late", trained.key, inputs.fingerprint())
        return Basis.from_arrays(cache.keep("basis", key, make).arrays)


def freeze(freezer: Freezer, backbone: Backbone, train: Fittable, cache: Cache, *, reuse: bool = True) -> Projection:
    """The frozen projection of a freezer; its basis is fitted once for every p.

    Parameters
    ----------
    reuse : bool
        Whether the features of the training split are needed afterwards. If not, they are never held all at once.
    """
    m, features = backbone.num_features, features_key(backbone, train.inputs)
    rows = freezer.drawn(len(train))

    def gather() -> Artifact:
        if reuse:
            phi = extract(backbone, train.inputs, "train", cache)
            parts = phi.blocks() if rows is None else (phi.read(some) for some in _pieces(rows))
            return Artifact(moments_of(parts, m).to_arrays())
        backbone.check(train.inputs)
        looked_at = train.inputs if rows is None else train.inputs.take(rows)
        return Artifact(moments_of(batches(backbone, looked_at, "train"), m).to_arrays())

    def make() -> Artifact:
        key = digest("moments", features, None if rows is None else rows.tolist())
        return Artifact(freezer.basis_of(Moments.from_arrays(cache.keep("moments", key, gather).arrays)).to_arrays())

    key = digest("basis", features, freezer.basis_identity())
    return Basis.from_arrays(cache.keep("basis", key, make).arrays).first(freezer.frozen_dims(m))


class FrozenBranch:
    """The frozen branch as a function of prepared inputs, for views that no table can hold.

    BatchNorm stays in eval mode whatever the trained branch does (it is folded away where possible), and no gradient
    is kept.
    """

    def __init__(self, backbone: Backbone, projection: Projection) -> None:
        self.backbone = backbone
        self.projection = projection
        self.network = FoldedOnce(backbone, fused)

    def __call__(self, x: Tensor) -> Tensor:
        weight, bias = torch.from_numpy(self.projection.weight), torch.from_numpy(self.projection.bias)
        with torch.inference_mode():
            features: Tensor = self.network(x) @ weight.to(x.device) + bias.to(x.device)
        # A tensor made in inference mode may not enter autograd; its copy may.
        return features.clone()


def _pieces(rows: IntArray) -> list[IntArray]:
    return [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]


def _unit_scale(features: Rows) -> float:
    if len(features) <= BLOCK:
        variance = features.array().var(axis=0, dtype=np.float64)
    else:
        mean = sum(block.sum(axis=0, dtype=np.float64) for block in features.blocks()) / len(features)
        variance = sum(np.square(block - mean).sum(axis=0) for block in features.blocks()) / len(features)
    spread = float(np.sqrt(variance.mean()))
    return 1 / spread if spread > 0 else 1.0
