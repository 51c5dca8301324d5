"""The contract of a backbone: inputs in, features (n, m) out."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy.typing as npt
import torch
from torch import Tensor, nn

from ftt.data.checksums import Checksums
from ftt.data.inputs import Inputs, Kind
from ftt.errors import FttError
from ftt.params import Json


class Backbone(nn.Module, ABC):
    """x → φ(x).

    Attributes
    ----------
    accepts : tuple of str
        The kinds of inputs it accepts ("images", "features", "texts").
    num_features : int
        m, the width of φ(x).
    weights_id : str
        Name and checksum of the weights: part of the key of everything computed from the features.
    prepares_tensors : bool
        Whether `prepare` also takes a tensor and uses operations of torch only. An exported model then takes inputs as
        they were read; otherwise it takes prepared ones.
    """

    accepts: ClassVar[tuple[Kind, ...]]
    prepares_tensors: ClassVar[bool] = False
    num_features: int
    weights_id: str

    @property
    def passes_on(self) -> bool:
        """Whether features that it is given are its features, unchanged, so that they need not be kept again."""
        return False

    @classmethod
    def create(cls, member: str, inputs: Inputs) -> Self:
        """The backbone for these inputs; `member` is what follows the colon of ``family:member``."""
        if member:
            raise FttError(
                f"the backbone {cls.__name__.lower()!r} takes no argument",
                given=member,
                allowed="the name without a colon",
            )
        return cls()

    @classmethod
    def fingerprint(cls, name: str, checksums: Checksums) -> Json:
        """What identifies the initial weights of the backbone `name`, found without loading them.

        The name is enough where weights come with the library, from a pinned file or from a seed.
        """
        return name

    def files(self) -> dict[str, bytes]:
        """Small files by name that `rebuilt` needs besides the weights: none by default."""
        return {}

    @classmethod
    def rebuilt(cls, member: str, inputs: Inputs, files: Mapping[str, bytes], weights: Mapping[str, Tensor]) -> Self:
        """The network of a saved model, which gets these `weights` afterwards; by default what `create` makes.

        A family whose `create` needs more than this package builds it from `files` and `weights`.
        """
        return cls.create(member, inputs)

    def exportable(self) -> nn.Module:
        """A copy made of layers that every exporter knows; prepared inputs in, features out."""
        return copy.deepcopy(self)

    @abstractmethod
    def prepare(self, batch: npt.NDArray[Any]) -> Tensor:
        """A batch as read from `Inputs`, as the tensor `forward` takes; deterministic."""

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """(n, m) features of prepared inputs."""

    def check(self, inputs: Inputs) -> None:
        """Refuse inputs of a kind that this backbone does not accept."""
        if inputs.kind not in self.accepts:
            raise FttError(
                f"the backbone {self.weights_id.partition('@')[0]!r} cannot take {inputs.kind}",
                given=inputs.kind,
                allowed=", ".join(self.accepts),
                hint="use --backbone identity for features, lite0 for images, hf:minilm for texts",
            )


def _per_channel(values: Sequence[float]) -> Tensor:
    """Values as they meet images; one for all channels is faster than three that are equal."""
    return torch.tensor(values[0]) if len(set(values)) == 1 else torch.tensor(values).view(1, 3, 1, 1)


def images_to_tensor(
    batch: npt.NDArray[Any] | Tensor, mean: Sequence[float], std: Sequence[float], smallest: int
) -> Tensor:
    """(n, H, W, C) on the scale 0–255 → (n, 3, H, W) float32 in channels_last, normalised; tiny images are enlarged.

    channels_last is where the depthwise convolutions of small networks are twice as fast on a CPU.
    """
    x = torch.as_tensor(batch).permute(0, 3, 1, 2).to(torch.float32)
    if x.shape[1] == 1:
        x = x.expand(-1, 3, -1, -1)
    elif x.shape[1] == 2:  # red and green: blue is empty
        x = nn.functional.pad(x, (0, 0, 0, 0, 0, 1))
    x = (x / 255).sub_(_per_channel(mean)).div_(_per_channel(std))
    short = min(x.shape[2:])
    if short < smallest:
        x = nn.functional.interpolate(x, scale_factor=-(-smallest // short), mode="bilinear", align_corners=False)
    return x.contiguous(memory_format=torch.channels_last)
