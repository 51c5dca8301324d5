"""A fitted model as one torch module: prepared inputs in, features or logits out."""

from __future__ import annotations

import copy
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from ftt.arrays import FloatArray
from ftt.errors import FttError
from ftt.train.model import FreezeThenTrain


class Linear(Protocol):
    """A fitted linear classifier as scikit-learn and `DFRProbe` hold it."""

    coef_: FloatArray
    intercept_: FloatArray


class FeatureModule(nn.Module):
    """Every branch with its projection and scale; copied, so that it stands on its own."""

    def __init__(self, model: FreezeThenTrain) -> None:
        super().__init__()
        branches = list({id(block.branch): block.branch for block in model.blocks}.values())
        self.branches = nn.ModuleList(copy.deepcopy(branch.module()) for branch in branches)
        self.of_block = tuple(branches.index(block.branch) for block in model.blocks)
        self.maps = nn.ModuleList()
        for block in model.blocks:
            weight, bias = torch.eye(block.width), torch.zeros(block.width)
            if block.projection is not None:
                weight, bias = torch.from_numpy(block.projection.weight).T, torch.from_numpy(block.projection.bias)
            self.maps.append(_linear(weight * block.scale, bias * block.scale))
        self.requires_grad_(False)
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        """(n, m) features of inputs as `Backbone.prepare` gives them."""
        seen = [branch(x) for branch in self.branches]
        return torch.cat([linear(seen[at]) for at, linear in zip(self.of_block, self.maps, strict=True)], dim=1)


class ProbedModule(nn.Module):
    """Features and a probe's weights in one module.

    Parameters
    ----------
    model : FreezeThenTrain
        Fitted features.
    probe : DFRProbe or any fitted linear classifier of scikit-learn
        The last layer; a single row of weights (two classes) becomes two logits.
    """

    def __init__(self, model: FreezeThenTrain, probe: Linear) -> None:
        super().__init__()
        coef, intercept = getattr(probe, "coef_", None), getattr(probe, "intercept_", None)
        if coef is None or intercept is None:
            raise FttError(
                "export needs a fitted linear probe",
                given=type(probe).__name__,
                allowed="an object with coef_ and intercept_",
                hint="ftt.DFRProbe().fit(model.transform(data['val']), data['val'].y, attribute=data['val'].a)",
            )
        rows: Any = torch.as_tensor(np.asarray(coef), dtype=torch.float32)
        offset: Any = torch.as_tensor(np.asarray(intercept), dtype=torch.float32)
        if len(rows) == 1:
            rows, offset = torch.cat([torch.zeros_like(rows), rows]), torch.cat([torch.zeros_like(offset), offset])
        self.features = FeatureModule(model)
        self.head = _linear(rows, offset)
        self.requires_grad_(False)
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        """(n, K) logits of inputs as `Backbone.prepare` gives them."""
        logits: Tensor = self.head(self.features(x))
        return logits


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    return layer
