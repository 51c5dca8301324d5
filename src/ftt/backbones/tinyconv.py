"""A small convolutional network with random weights: for tests, and for freezers that learn by themselves.

Three strided convolutions with GroupNorm (no running statistics, so a batch may be spread over processes), pooled to
m = 64. ``tinyconv:3`` draws its weights from seed 3.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy.typing as npt
from torch import Tensor, nn

from ftt.backbones.backbone import Backbone, images_to_tensor
from ftt.backbones.weights import content_id
from ftt.data.inputs import Inputs, Kind
from ftt.errors import FttError
from ftt.rng import torch_seeded


class TinyConv(Backbone):
    """Random weights, 64 features."""

    accepts: ClassVar[tuple[Kind, ...]] = ("images",)
    prepares_tensors: ClassVar[bool] = True

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        widths = (3, 16, 32, 64)
        with torch_seeded(seed, "tinyconv"):
            layers: list[nn.Module] = []
            for wide_in, wide_out in pairwise(widths):
                layers += [nn.Conv2d(wide_in, wide_out, 3, stride=2, padding=1), nn.GroupNorm(4, wide_out), nn.ReLU()]
            self.net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.num_features = widths[-1]
        self.weights_id = content_id("tinyconv", self.net)

    @classmethod
    def create(cls, member: str, inputs: Inputs) -> Self:
        if member and not (member.isdecimal() and len(member) <= 18):
            raise FttError(
                "tinyconv expects a seed",
                given=member[:60],
                allowed="tinyconv or tinyconv:<18 digits>",
            )
        return cls(int(member or 0))

    def prepare(self, batch: npt.NDArray[Any]) -> Tensor:
        return images_to_tensor(batch, mean=(0.5,) * 3, std=(0.5,) * 3, smallest=16)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net(x)
        return out
