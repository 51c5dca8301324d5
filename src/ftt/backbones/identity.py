"""The inputs themselves as features: embeddings as they are, images as flat pixels in [0, 1]."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ftt.backbones.backbone import Backbone
from ftt.data.inputs import Inputs, Kind


class Identity(Backbone):
    """φ(x) = x. Nothing to train inside, so the supervised branch is one linear map."""

    accepts: ClassVar[tuple[Kind, ...]] = ("features", "images")
    prepares_tensors: ClassVar[bool] = True

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.num_features = num_features
        self.weights_id = "identity"

    @property
    def passes_on(self) -> bool:
        # What is derived from it has weights.
        return type(self) is Identity

    @classmethod
    def create(cls, member: str, inputs: Inputs) -> Self:
        """Sized to the inputs, whose width only they know."""
        first = inputs.read(np.zeros(1, dtype=np.int64))
        return cls(int(first[0].size))

    def prepare(self, batch: npt.NDArray[Any]) -> Tensor:
        x = torch.as_tensor(batch).flatten(1)
        return x.to(torch.float32).div_(255) if x.dtype == torch.uint8 else x.to(torch.float32)

    def forward(self, x: Tensor) -> Tensor:
        return x
