"""A fitted recipe: inputs in, the features a probe is fitted on out."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from ftt.arrays import Float32Array
from ftt.backbones import Backbone, extract
from ftt.caching import Artifact, Cache, NoCache
from ftt.data.grouped import Split
from ftt.data.inputs import Inputs
from ftt.errors import FttError, unknown
from ftt.freeze.base import Projection
from ftt.params import digest
from ftt.recipe import Recipe
from ftt.train.network import TwoBranch
from ftt.train.services import Log

if TYPE_CHECKING:
    from ftt.train.export import Linear

DEPTHS = ("projected", "backbone")


@dataclass(frozen=True)
class Block:
    """One part of the features: whose they are, which directions of them, and on what scale.

    `source` is "frozen" (the model the freezer looked at) or "trained".
    """

    source: str
    projection: Projection | None = None
    scale: float = 1.0


@dataclass(frozen=True)
class Trained:
    """A finished training: the network, the key it is kept under, and its log."""

    network: TwoBranch
    key: str = ""
    log: Log = field(default_factory=list)

    def features(self, inputs: Inputs, label: str, depth: str, cache: Cache) -> Float32Array:
        """(n, ·) features of the trained branch, kept under the key of the training."""

        def make() -> Artifact:
            phi = extract(self.network.backbone, inputs, f"{label}, trained")
            if depth == "projected":
                project = self.network.project
                with torch.inference_mode():
                    phi = project(torch.from_numpy(phi).to(project.weight.device)).cpu().numpy()
            return Artifact({"phi": phi})

        key = digest(self.key, depth, inputs.fingerprint())
        # Without a key nothing tells this training from another.
        kept = cache.keep("trained-features", key, make) if self.key else make()
        return kept.arrays["phi"]


class FreezeThenTrain:
    """The first two stages of Freeze then Train, fitted.

    Attributes
    ----------
    recipe : Recipe
        What was fitted.
    backbone_name : str
        What it was fitted on, as `ftt ls backbones` names it.
    frozen : Backbone
        The model behind the frozen features: the initial one, or what a freezer learned without labels.
    blocks : sequence of Block
        How the features are put together, frozen ones first.
    trained : Trained, optional
        The trained part.
    """

    def __init__(
        self,
        recipe: Recipe,
        backbone_name: str,
        frozen: Backbone,
        blocks: Sequence[Block],
        trained: Trained | None = None,
    ) -> None:
        self.recipe = recipe
        self.backbone_name = backbone_name
        self.frozen = frozen
        self.blocks = tuple(blocks)
        self.trained = trained
        self.cache: Cache = NoCache()

    @property
    def network(self) -> TwoBranch | None:
        """The trained network, if anything was trained."""
        return self.trained.network if self.trained else None

    @property
    def log(self) -> Log:
        """One record per epoch: loss and accuracies on the observed labels."""
        return self.trained.log if self.trained else []

    @property
    def explained(self) -> float | None:
        """Share of the variance of the initial features that the frozen directions keep."""
        kept = [block.projection for block in self.blocks if block.source == "frozen" and block.projection]
        return kept[0].explained if kept else None

    def transform(self, split: Split | Inputs, depth: str = "projected") -> Float32Array:
        """The features of a split.

        Parameters
        ----------
        depth : {"projected", "backbone"}
            Where the trained branch is read: after its last linear layer W_sl (the paper's), or before it.

        Returns
        -------
        (n, m) float32 array
            Frozen features first.
        """
        if depth not in DEPTHS:
            raise unknown("depth", depth, DEPTHS)
        inputs, label = (split.inputs, split.name) if isinstance(split, Split) else (split, "inputs")
        parts = []
        for block in self.blocks:
            phi = self._features(block, inputs, label, depth)
            phi = block.projection(phi) if block.projection else phi
            parts.append(phi if block.scale == 1 else phi * np.float32(block.scale))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def save(self, folder: Path | str, **notes: Any) -> Path:
        """Write weights (safetensors), config (JSON) and a model card; see `ftt.train.saved`."""
        from ftt.train import saved

        return saved.save(self, Path(folder), notes=notes)

    @staticmethod
    def load(folder: Path | str, inputs: Inputs) -> FreezeThenTrain:
        """Read back what `save` wrote; `inputs` are of the kind it was fitted on."""
        from ftt.train import saved

        return saved.load(Path(folder), inputs)

    def export(self, probe: Linear) -> nn.Module:
        """The model and a fitted probe as one torch module: prepared inputs in, logits out."""
        from ftt.train.export import ProbedModule

        return ProbedModule(self, probe)

    def _features(self, block: Block, inputs: Inputs, label: str, depth: str) -> Float32Array:
        if block.source == "frozen":
            return extract(self.frozen, inputs, label, self.cache)
        if depth == "backbone" and block.projection is not None:
            raise FttError(
                "a late join is made after the last linear layer",
                given="depth 'backbone'",
                allowed="depth 'projected'",
            )
        assert self.trained is not None
        return self.trained.features(inputs, label, depth, self.cache)

    def describe(self) -> dict[str, str]:
        """What a person asks about the model, in words."""
        trained = self.network
        return {
            "recipe": self.recipe.name,
            "backbone": self.frozen.weights_id,
            "frozen features": str(self.frozen.num_features if trained is None else trained.frozen_dims or "none"),
            "variance kept by them": f"{self.explained:.1%}" if self.explained is not None else "–",
            "epochs trained": str(len(self.log) or "–"),
        }

    def __repr__(self) -> str:
        return f"FreezeThenTrain({', '.join(f'{name}: {value}' for name, value in self.describe().items())})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>" for name, value in self.describe().items()
        )
        return f"<table>{rows}</table>"
