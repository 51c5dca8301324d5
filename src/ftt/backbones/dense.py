"""Hidden layers with random weights over flat inputs: the networks that small benchmarks are defined with.

``dense:390x390`` has two hidden layers of 390 units with ReLU, as in the experiment of Arjovsky et al. on coloured
MNIST; its features are the units of the last one. Weights are drawn as the authors draw them (Xavier, no offsets), from
seed 0; ``dense:390x390@3`` draws them from seed 3. Nothing in it is pretrained: its initial features are random ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Self

import numpy as np
from torch import Tensor, nn

from ftt.backbones.identity import Identity
from ftt.backbones.weights import content_id
from ftt.data.inputs import Inputs
from ftt.errors import FttError
from ftt.rng import torch_seeded

_MEMBER = re.compile(r"([1-9]\d{0,4}(?:x[1-9]\d{0,4}){0,9})(?:@(\d{1,18}))?")


class Dense(Identity):
    """Linear layers, each followed by ReLU."""

    def __init__(self, inputs: int, widths: Sequence[int], seed: int = 0) -> None:
        super().__init__(widths[-1])
        layers: list[nn.Module] = []
        with torch_seeded(seed, "dense"):
            for wide_in, wide_out in pairwise((inputs, *widths)):
                linear = nn.Linear(wide_in, wide_out)
                nn.init.xavier_uniform_(linear.weight)
                nn.init.zeros_(linear.bias)
                layers += [linear, nn.ReLU()]
        self.net = nn.Sequential(*layers)
        self.weights_id = content_id("dense", self.net)

    @classmethod
    def create(cls, member: str, inputs: Inputs) -> Self:
        first = inputs.read(np.zeros(1, dtype=np.int64))
        return cls(int(first[0].size), *_parsed(member))

    @classmethod
    def rebuilt(cls, member: str, inputs: Inputs, files: Mapping[str, bytes], weights: Mapping[str, Tensor]) -> Self:
        """As wide as its first layer reads: the features of a saved model do not tell how wide its inputs were."""
        first = weights.get("net.0.weight")
        return cls.create(member, inputs) if first is None else cls(first.shape[-1], *_parsed(member))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net(x)
        return out


def _parsed(member: str) -> tuple[list[int], int]:
    """The widths of the hidden layers, and the seed of their weights."""
    match = _MEMBER.fullmatch(member)
    if match is None:
        raise FttError(
            "dense expects the widths of its hidden layers",
            given=f"dense:{member[:60]}" if member else "dense",
            allowed="dense:<width>x<width>… or dense:<width>x<width>…@<seed>, at most ten layers",
            hint="for example dense:390x390",
        )
    return [int(width) for width in match[1].split("x")], int(match[2] or 0)
