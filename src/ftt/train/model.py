"""A fitted recipe: inputs in, the features a probe is fitted on out."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import nn

from ftt.arrays import Float32Array
from ftt.backbones import Backbone, extract
from ftt.caching import Cache, NoCache
from ftt.data.grouped import Split
from ftt.data.inputs import Inputs
from ftt.errors import FttError, unknown
from ftt.freeze.freezer import Projection
from ftt.params import digest
from ftt.recipe import Recipe
from ftt.rows import Mapped, Rows, SideBySide
from ftt.train.services import Log
from ftt.train.two_branch import TwoBranch

if TYPE_CHECKING:
    from ftt.train.export import Linear

DEPTHS = ("projected", "backbone")


class Branch(ABC):
    """A fitted network whose features can be read."""

    key: str
    kind: ClassVar[str]

    @property
    @abstractmethod
    def backbone(self) -> Backbone:
        """The network before any new layer."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features."""

    @abstractmethod
    def features(self, inputs: Inputs, label: str, depth: str, cache: Cache) -> Rows:
        """(n, width) features, kept in the cache."""

    @abstractmethod
    def module(self) -> nn.Module:
        """Prepared inputs in, features out."""


@dataclass(frozen=True, eq=False)
class Untrained(Branch):
    """A network whose features are read as they are: the initial one, or what was made of it without a new layer."""

    kind: ClassVar[str] = "frozen"

    initial: Backbone
    key: str = ""

    @property
    def backbone(self) -> Backbone:
        return self.initial

    @property
    def width(self) -> int:
        return self.initial.num_features

    def features(self, inputs: Inputs, label: str, depth: str, cache: Cache) -> Rows:
        return extract(self.backbone, inputs, label, cache)

    def module(self) -> nn.Module:
        return self.backbone


@dataclass(frozen=True, eq=False)
class Trained(Branch):
    """A finished training: the network, the key it is kept under, and its log."""

    kind: ClassVar[str] = "trained"

    network: TwoBranch
    key: str = ""
    log: Log = field(default_factory=list)

    @property
    def backbone(self) -> Backbone:
        return self.network.backbone

    @property
    def width(self) -> int:
        return self.network.project.out_features

    def features(self, inputs: Inputs, label: str, depth: str, cache: Cache) -> Rows:
        def make(start: int, stop: int) -> Float32Array:
            part = inputs if stop - start == len(inputs) else inputs.take(np.arange(start, stop))
            phi = extract(self.network.backbone, part, f"{label}, trained").array()
            if depth == "projected":
                project = self.network.project
                with torch.inference_mode():
                    phi = project(torch.from_numpy(phi).to(project.weight.device)).cpu().numpy()
            return phi

        # Without a key nothing tells this training from another.
        if not self.key:
            return NoCache().keep_rows("trained-features", "", len(inputs), make)
        key = digest(self.key, depth, inputs.fingerprint())
        return cache.keep_rows("trained-features", key, len(inputs), make)

    def module(self) -> nn.Module:
        return nn.Sequential(self.network.backbone, self.network.project)


@dataclass(frozen=True, eq=False)
class Block:
    """One part of the features: which network they come from, which directions of them, and on what scale."""

    branch: Branch
    projection: Projection | None = None
    scale: float = 1.0

    def features(self, inputs: Inputs, label: str, depth: str, cache: Cache) -> Rows:
        """(n, ·) features of inputs."""
        if depth == "backbone" and self.projection is not None and isinstance(self.branch, Trained):
            raise FttError(
                "a late join is made after the last linear layer",
                given="depth 'backbone'",
                allowed="depth 'projected'",
            )
        phi = self.branch.features(inputs, label, depth, cache)
        phi = Mapped(phi, self.projection, self.width) if self.projection else phi
        return phi if self.scale == 1 else Mapped(phi, lambda part: part * np.float32(self.scale), phi.shape[1])

    @property
    def width(self) -> int:
        return self.branch.width if self.projection is None else self.projection.weight.shape[1]


class FreezeThenTrain:
    """The first two stages of Freeze then Train, fitted.

    Attributes
    ----------
    recipe : Recipe
        What was fitted.
    backbone_name : str
        What it was fitted on, as `ftt ls backbones` names it.
    blocks : sequence of Block
        How the features are put together, frozen ones first.
    """

    def __init__(self, recipe: Recipe, backbone_name: str, blocks: Sequence[Block]) -> None:
        self.recipe = recipe
        self.backbone_name = backbone_name
        self.blocks = tuple(blocks)
        self.cache: Cache = NoCache()

    @property
    def backbone(self) -> Backbone:
        """A network that prepares inputs as all of them do."""
        return self.blocks[0].branch.backbone

    @property
    def network(self) -> TwoBranch | None:
        """The network that was trained last, if any was."""
        trained = [block.branch.network for block in self.blocks if isinstance(block.branch, Trained)]
        return trained[-1] if trained else None

    @property
    def log(self) -> Log:
        """One record per epoch of every training: loss and accuracies on the labels it was given."""
        return [record for block in self.blocks if isinstance(block.branch, Trained) for record in block.branch.log]

    @property
    def explained(self) -> float | None:
        """Share of the variance of the initial features that the frozen directions keep."""
        kept = [b.projection.explained for b in self.blocks if isinstance(b.branch, Untrained) and b.projection]
        return kept[0] if kept else None

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of features of every block."""
        return tuple(block.width for block in self.blocks)

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
        return self.rows(split, depth).array()

    def rows(self, split: Split | Inputs, depth: str = "projected") -> Rows:
        """The features of a split as a table that is read by rows, for splits that do not fit in memory.

        Parameters as in `transform`.
        """
        if depth not in DEPTHS:
            raise unknown("depth", depth, DEPTHS)
        inputs, label = (split.inputs, split.name) if isinstance(split, Split) else (split, "inputs")
        return SideBySide([block.features(inputs, label, depth, self.cache) for block in self.blocks])

    def save(self, folder: Path | str, **notes: Any) -> Path:
        """Write weights (safetensors), config (JSON) and a model card; see `ftt.train.saved`."""
        from ftt.train import saved

        return saved.save(self, Path(folder), notes=notes)

    @staticmethod
    def load(folder: Path | str) -> FreezeThenTrain:
        """Read back what `save` wrote, or the features of a saved `ftt.Model`."""
        from ftt.data.roots import expanded
        from ftt.train import saved

        return saved.load(expanded(folder, "folder"))

    def export(self, probe: Linear) -> nn.Module:
        """The model and a fitted probe as one torch module: prepared inputs in, logits out."""
        from ftt.train.export import ProbedModule

        return ProbedModule(self, probe, exportable=True)

    def describe(self) -> dict[str, str]:
        """What a person asks about the model, in words."""
        return {
            "recipe": self.recipe.name,
            "backbone": self.backbone_name,
            "features": ", ".join(f"{block.width} {block.branch.kind}" for block in self.blocks),
            "variance kept by the frozen features": f"{self.explained:.1%}" if self.explained is not None else "–",
            "epochs trained": str(len(self.log) or "–"),
        }

    def __repr__(self) -> str:
        return f"FreezeThenTrain({', '.join(f'{name}: {value}' for name, value in self.describe().items())})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>" for name, value in self.describe().items()
        )
        return f"<table>{rows}</table>"
