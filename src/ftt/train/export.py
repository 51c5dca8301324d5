"""A fitted model as one torch module: prepared inputs in, features or logits out."""

from __future__ import annotations

import copy
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from ftt.arrays import FloatArray
from ftt.errors import FttError
from ftt.train.model import Block, FreezeThenTrain, Trained


class Linear(Protocol):
    """A fitted linear classifier as scikit-learn and `DFRProbe` hold it."""

    @property
    def coef_(self) -> FloatArray: ...

    @property
    def intercept_(self) -> FloatArray: ...


class FeatureModule(nn.Module):
    """Every branch with its projection and scale; copied, so that it stands on its own."""

    def __init__(self, model: FreezeThenTrain) -> None:
        super().__init__()
        branches = list({id(block.branch): block.branch for block in model.blocks}.values())
        self.branches = nn.ModuleList(copy.deepcopy(branch.module()) for branch in branches)
        self.of_block = tuple(branches.index(block.branch) for block in model.blocks)
        self.maps = nn.ModuleList()
        for block in model.blocks:
            plain = block.projection is None and block.scale == 1
            self.maps.append(nn.Identity() if plain else _linear(*_tensors(*_map_of(block))))
        self.requires_grad_(False)
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        """(n, m) features of inputs as `Backbone.prepare` gives them."""
        seen = [branch(x) for branch in self.branches]
        return torch.cat([linear(seen[at]) for at, linear in zip(self.of_block, self.maps, strict=True)], dim=1)


class ProbedModule(nn.Module):
    """Features and a probe's weights in one module.

    Everything after a network is linear: its new last layer, projection, scale and probe. They are multiplied out, so
    that each network has one map to the logits, and these are added up.

    Parameters
    ----------
    model : FreezeThenTrain
        Fitted features.
    probe : DFRProbe or any fitted linear classifier of scikit-learn
        The last layer; a single row of weights (two classes) becomes two logits.
    exportable : bool
        Whether the networks are copies made of layers that every exporter knows (`Backbone.exportable`), or those of
        the model itself, which then are in eval mode and without gradients.
    """

    def __init__(self, model: FreezeThenTrain, probe: Linear, *, exportable: bool = False) -> None:
        super().__init__()
        rows, offset = logit_weights(probe)
        backbones = list({id(block.branch.backbone): block.branch.backbone for block in model.blocks}.values())
        maps: dict[int, tuple[FloatArray, FloatArray]] = {}
        start = 0
        for block in model.blocks:
            weight, bias = _map_of(block)
            if isinstance(block.branch, Trained):
                project = block.branch.network.project
                inner, shift = (value.detach().cpu().double().numpy() for value in (project.weight, project.bias))
                weight, bias = weight @ inner, weight @ shift + bias
            own = rows[:, start : start + block.width]
            at = backbones.index(block.branch.backbone)
            before, constant = maps.get(at, (0.0, 0.0))
            maps[at] = before + own @ weight, constant + own @ bias
            start += block.width
        first = maps[0]
        maps[0] = first[0], first[1] + offset
        self.backbones = nn.ModuleList(b.exportable() if exportable else b for b in backbones)
        self.heads = nn.ModuleList(_linear(*_tensors(*maps[at])) for at in range(len(backbones)))
        self.requires_grad_(False)
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        """(n, K) logits of inputs as `Backbone.prepare` gives them."""
        logits = [head(backbone(x)) for backbone, head in zip(self.backbones, self.heads, strict=True)]
        return torch.stack(logits).sum(0)


def logit_weights(probe: Linear) -> tuple[FloatArray, FloatArray]:
    """(K, m) weights and (K,) offsets of a linear classifier; the first of two classes has the logit 0."""
    coef, intercept = getattr(probe, "coef_", None), getattr(probe, "intercept_", None)
    if coef is None or intercept is None:
        raise FttError(
            "export needs a fitted linear probe",
            given=type(probe).__name__,
            allowed="an object with coef_ and intercept_",
            hint="ftt.DFRProbe().fit(model.transform(data['val']), data['val'].y, attribute=data['val'].a)",
        )
    rows, offset = np.asarray(coef, dtype=np.float64), np.asarray(intercept, dtype=np.float64)
    if len(rows) == 1:
        rows, offset = np.concatenate([np.zeros_like(rows), rows]), np.concatenate([np.zeros_like(offset), offset])
    return rows, offset


def _map_of(block: Block) -> tuple[FloatArray, FloatArray]:
    """Weights (out, in) and offsets (out,) of what a block does with the features of its branch."""
    if block.projection is None:
        return block.scale * np.eye(block.width), np.zeros(block.width)
    weight, bias = (np.asarray(part, dtype=np.float64) for part in (block.projection.weight, block.projection.bias))
    return block.scale * weight.T, block.scale * bias


def _tensors(*arrays: Any) -> tuple[Tensor, ...]:
    return tuple(torch.from_numpy(np.ascontiguousarray(array)) for array in arrays)


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    return layer
