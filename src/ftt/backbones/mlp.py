"""A residual layer over features that starts as the identity: a branch for embeddings that is more than linear.

φ(x) = x + W₂ relu(W₁ x) with W₂ = 0 at the start, so that its initial features are the embeddings themselves and
training can only move away from them, as it does in a pretrained network. ``mlp:256`` has 256 hidden units.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from torch import Tensor, nn

from ftt.backbones.identity import Identity
from ftt.data.inputs import Inputs, Kind
from ftt.errors import FttError
from ftt.rng import torch_seeded


class Mlp(Identity):
    """One hidden layer beside the identity."""

    accepts: ClassVar[tuple[Kind, ...]] = ("features", "images")

    def __init__(self, num_features: int, hidden: int = 128) -> None:
        super().__init__(num_features)
        with torch_seeded(0, "mlp", num_features, hidden):
            self.inner = nn.Sequential(nn.Linear(num_features, hidden), nn.ReLU())
            self.outer = nn.Linear(hidden, num_features, bias=False)
        nn.init.zeros_(self.outer.weight)
        self.weights_id = f"mlp:{hidden}"

    @classmethod
    def create(cls, member: str, inputs: Inputs) -> Self:
        if member and not member.isdigit():
            raise FttError("mlp expects a number of hidden units", given=member, allowed="mlp or mlp:<number>")
        first = inputs.read(np.zeros(1, dtype=np.int64))
        return cls(int(first[0].size), int(member or 128))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.outer(self.inner(x))
        return out
