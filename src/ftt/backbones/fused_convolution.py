"""A convolution in eval mode together with the ReLU or ReLU6 after it, as one operation of oneDNN.

Clipping a map apart from the convolution that makes it means to write and read the whole map once more, which takes a
sixth of a forward pass of EfficientNet-Lite0. And a 1×1 convolution of a small map takes up to three times as long as
the matrix product that it is, because oneDNN lays out the weights of a convolution anew at every call.

Milliseconds of a layer with its clipping (256 images, one thread, AVX-512, torch 2.13), apart and as one:

=====  ===========  ======  =====  ====
map    channels     kernel  apart  one
=====  ===========  ======  =====  ====
32×16  16 → 96      1×1     18.2   10.8
32×16  32           3×3     4.0    2.5
32×16  96           4×4     6.3    4.9
16×8   144          3×3     5.3    3.9
4×2    672          5×5     2.5    2.0
2×1    192 → 1152   1×1     5.0    2.5
2×1    1152 → 320   1×1     9.8    4.0
=====  ===========  ======  =====  ====

The operation is one that ``torch.compile`` uses; where torch was built without it, layers stay as they are.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from ftt import onednn
from ftt.backbones.depthwise import Depthwise, pair
from ftt.backbones.efficientnet_lite import SameConv
from ftt.backbones.pointwise import SMALL, Pointwise
from ftt.backbones.products import by_onednn
from ftt.backbones.small_map import SmallMapConv
from ftt.compiled.tensors import Pair
from ftt.onednn import NONE, RELU6, Clip


class FusedConvolution(nn.Module):
    """What a convolution and an activation compute one after the other."""

    def __init__(self, convolution: nn.Conv2d, activation: nn.Module) -> None:
        super().__init__()
        self.convolution, self.activation = convolution, activation

    @staticmethod
    def suits(convolution: nn.Conv2d, activation: nn.Module) -> bool:
        # Exact types: what a subclass changes is unknown.
        return (
            type(convolution) in (nn.Conv2d, Pointwise, Depthwise, SameConv, SmallMapConv)
            and convolution.padding_mode == "zeros"
            and not isinstance(convolution.padding, str)
            and _clip(activation) is not None
            and available()
        )

    def forward(self, x: Tensor) -> Tensor:
        convolution, weight, clip = self.convolution, self.convolution.weight, _clip(self.activation)
        plain = x.device.type != "cpu" or not x.dtype == weight.dtype == torch.float32 or torch.is_grad_enabled()
        small = isinstance(convolution, SmallMapConv) and convolution.is_small(x)
        if plain or small or clip is None:
            out: Tensor = self.activation(convolution(x))
            return out
        if isinstance(convolution, Pointwise) and x.shape[2] * x.shape[3] <= SMALL:
            pixels, matrix = x.permute(0, 2, 3, 1), weight.flatten(1)
            if by_onednn(x, weight):
                return onednn.linear(pixels, matrix, convolution.bias, clip).permute(0, 3, 1, 2)
            found: Tensor = self.activation(linear(pixels, matrix, convolution.bias))
            return found.permute(0, 3, 1, 2)
        padding = pair(convolution.padding)
        if isinstance(convolution, SameConv):
            x = convolution.padded(x)
        elif isinstance(convolution, Depthwise):
            weight, padding = convolution.symmetric(x)
        return _convolved(x, weight, convolution, padding, clip)


def _clip(activation: nn.Module) -> Clip | None:
    """How oneDNN calls an activation; None if it does not know it."""
    if isinstance(activation, nn.ReLU6):
        return RELU6
    if type(activation) is nn.ReLU:
        return "relu", []
    return NONE if type(activation) is nn.Identity else None


def _convolved(x: Tensor, weight: Tensor, like: nn.Conv2d, padding: Pair, clip: Clip) -> Tensor:
    out: Tensor = torch.ops.mkldnn._convolution_pointwise(
        x, weight, like.bias, padding, like.stride, like.dilation, like.groups, *clip, ""
    )
    return out


@functools.cache
def available() -> bool:
    """Whether this torch has the operation, and whether it computes what it should."""
    layer, one = nn.Conv2d(2, 2, 1, bias=False, device="meta"), torch.eye(2).view(2, 2, 1, 1)
    x = torch.linspace(-20, 20, 32).view(1, 2, 4, 4)
    activations = (nn.ReLU6(), nn.ReLU(), nn.Identity())
    try:
        found = [_convolved(x, one, layer, (0, 0), clip) for act in activations if (clip := _clip(act))]
    except (AttributeError, RuntimeError):
        return False
    return all(torch.equal(got, activation(x)) for got, activation in zip(found, activations, strict=True))
