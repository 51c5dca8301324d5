"""A fitted recipe: inputs in, the features a probe is fitted on out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
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
from ftt.train.network import TwoBranch
from ftt.train.recipe import Recipe

DEPTHS = ("projected", "backbone")


@dataclass(frozen=True)
class Block:
    """One part of the features: whose they are, which directions of them, and on what scale.

    `source` is "frozen" (the model the freezer looked at) or "trained".
    """

    source: str
    projection: Projection | None = None
    scale: float = 1.0


class FreezeThenTrain:
    """The first two stages of Freeze then Train, fitted.

    Attributes
    ----------
    recipe : Recipe
        What was fitted.
    frozen : Backbone
        The model behind the frozen features: the initial one, or what a freezer learned without labels.
    network : TwoBranch or None
        The trained part.
    blocks : tuple of Block
        How the features of both are put together, frozen ones first.
    log : list of dict
        One record per epoch: loss and accuracies on the observed labels.
    """

    def __init__(
        self,
        recipe: Recipe,
        backbone_name: str,
        frozen: Backbone,
        network: TwoBranch | None,
        blocks: tuple[Block, ...],
        *,
        key: str = "",
        cache: Cache | None = None,
        log: list[dict[str, Any]] | None = None,
    ) -> None:
        self.recipe = recipe
        self.backbone_name = backbone_name
        self.frozen = frozen
        self.network = network
        self.blocks = blocks
        self.log = log or []
        self._key = key
        self._cache = cache or NoCache()

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

    def export(self, coef: npt.NDArray[np.floating[Any]], intercept: npt.NDArray[np.floating[Any]]) -> nn.Module:
        """The model with a probe's weights as one torch module: prepared inputs in, logits out."""
        from ftt.train.export import ProbedModule

        return ProbedModule(self, coef, intercept)

    def _features(self, block: Block, inputs: Inputs, label: str, depth: str) -> Float32Array:
        if block.source == "frozen":
            return extract(self.frozen, inputs, label, self._cache)
        if depth == "backbone" and block.projection is not None:
            raise FttError(
                "a late join is made after the last linear layer",
                given="depth 'backbone'",
                allowed="depth 'projected'",
            )
        assert self.network is not None
        return trained_features(self.network, inputs, label, depth, self._key, self._cache)


def trained_features(
    network: TwoBranch, inputs: Inputs, label: str, depth: str, key: str, cache: Cache
) -> Float32Array:
    """(n, ·) features of the trained branch, kept under the key of its training."""

    def make() -> Artifact:
        phi = extract(network.backbone, inputs, f"{label}, trained")
        if depth == "projected":
            with torch.inference_mode():
                phi = network.project(torch.from_numpy(phi).to(network.project.weight.device)).cpu().numpy()
        return Artifact({"phi": phi})

    return cache.keep("trained-features", digest(key, depth, inputs.fingerprint()), make).arrays["phi"]
