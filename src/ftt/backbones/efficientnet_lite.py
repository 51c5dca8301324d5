"""EfficientNet-Lite0 (Tan and Le 2019; Lite: ReLU6, no squeeze-and-excitation), made of layers that train fast here.

Layers have the names of timm's ``tf_efficientnet_lite0``, so that weights of one load into the other, and in eval mode
features have the same bits, as long as images are too small or too few to be divided (`pieces`). timm's own is not used
because importing timm takes longer than reading the weights, and every process of a demo or a sweep would do it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad

from ftt.backbones.chain import chained, is_trained
from ftt.backbones.depthwise import Depthwise, pair, same_pads
from ftt.backbones.fast_layers import ReLU6
from ftt.backbones.inverted_residual import InvertedResidual
from ftt.backbones.normalized import Normalized
from ftt.backbones.pieces import in_pieces
from ftt.backbones.pointwise import Pointwise
from ftt.compiled.tensors import Pads

EPS = 1e-3
STEM = 32
WIDEN = 6
STAGES = (
    (24, 2, 3, 2),
    (40, 2, 5, 2),
    (80, 3, 3, 2),
    (112, 3, 5, 1),
    (192, 4, 5, 2),
    (320, 1, 3, 1),
)
"""Channels, blocks, kernel and stride of the first block, of every stage after the first."""


class EfficientNetLite0(nn.Module):
    """Images in, 1280 features out."""

    def __init__(self) -> None:
        super().__init__()
        self.conv_stem = SameConv(3, STEM, 3, stride=2, bias=False)
        self.bn1 = Norm(STEM, ReLU6(inplace=True))
        stages: list[nn.Module] = [nn.Sequential(Separable(STEM, 16))]
        channels = 16
        for out, blocks, kernel, stride in STAGES:
            first = _inverted_residual(channels, out, kernel, stride)
            stages.append(nn.Sequential(first, *(_inverted_residual(out, out, kernel, 1) for _ in range(blocks - 1))))
            channels = out
        self.blocks = nn.Sequential(*stages)
        self.conv_head = Pointwise(channels, 1280, 1, bias=False)
        self.bn2 = Norm(1280, ReLU6(inplace=True))
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, x: Tensor) -> Tensor:
        if is_trained(x, self.bn1):
            x = self.blocks(chained(x, [Normalized(self.conv_stem, self.bn1, clips=True)]))
        else:
            pixels = -(-x.shape[2] // 2) * -(-x.shape[3] // 2)
            x = self.blocks[1:](in_pieces(self._begun, x, STEM * pixels, (self.bn1, *self.blocks[0].modules())))
        if is_trained(x, self.bn2):
            x = chained(x, [Normalized(self.conv_head, self.bn2, clips=True)])
        else:
            x = self.bn2(self.conv_head(x))
        pooled: Tensor = self.pool(x).flatten(1)
        return pooled

    def _begun(self, x: Tensor) -> Tensor:
        begun: Tensor = self.blocks[0](self.bn1(self.conv_stem(x)))
        return begun


class SameConv(nn.Conv2d):
    """A convolution with zeros around the map as TensorFlow's ``SAME`` adds them, depending on its size."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(self.padded(input))

    def convolved(self, x: Tensor) -> Tensor:
        """The output without its bias, and without gradients."""
        return conv2d(self.padded(x), self.weight, None, pair(self.stride))

    def input_gradient(self, grad: Tensor, x: Tensor) -> Tensor:
        """The gradient with respect to the input."""
        (top, _), (left, _) = self._pads(x)
        return self._gradient(grad, x, of_input=True)[..., top : top + x.shape[2], left : left + x.shape[3]]

    def weight_gradient(self, grad: Tensor, x: Tensor) -> Tensor:
        """The gradient with respect to the weights."""
        return self._gradient(grad, x, of_input=False)

    def padded(self, x: Tensor) -> Tensor:
        """A map with its zeros."""
        (top, bottom), (left, right) = self._pads(x)
        return pad(x, (left, right, top, bottom))

    def _pads(self, x: Tensor) -> Pads:
        sizes = zip(x.shape[2:], pair(self.kernel_size), pair(self.stride), strict=True)
        rows, columns = (same_pads(*size) for size in sizes)
        return rows, columns

    def _gradient(self, grad: Tensor, x: Tensor, *, of_input: bool) -> Tensor:
        step = self.stride, (0, 0), (1, 1), False, (0, 0), self.groups
        asked = of_input, not of_input, False
        found = torch.ops.aten.convolution_backward(grad, self.padded(x), self.weight, None, *step, asked)
        gradient: Tensor = found[0 if of_input else 1]
        return gradient


class Norm(nn.BatchNorm2d):
    """BatchNorm and the activation after it."""

    def __init__(self, channels: int, act: nn.Module | None = None) -> None:
        super().__init__(channels, eps=EPS)
        self.act = act or nn.Identity()

    def forward(self, input: Tensor) -> Tensor:
        out: Tensor = self.act(super().forward(input))
        return out


class Separable(nn.Module):
    """The first block: a depthwise convolution, then a 1×1 one."""

    def __init__(self, channels: int, out: int) -> None:
        super().__init__()
        self.conv_dw = _depthwise(channels, 3, 1)
        self.bn1 = Norm(channels, ReLU6(inplace=True))
        self.conv_pw = Pointwise(channels, out, 1, bias=False)
        self.bn2 = Norm(out)

    def forward(self, x: Tensor) -> Tensor:
        if is_trained(x, self.bn1, self.bn2):
            links = Normalized(self.conv_dw, self.bn1, clips=True), Normalized(self.conv_pw, self.bn2, clips=False)
            return chained(x, links)
        out: Tensor = self.bn2(self.conv_pw(self.bn1(self.conv_dw(x))))
        return out


def _inverted_residual(channels: int, out: int, kernel: int, stride: int) -> InvertedResidual:
    wide = WIDEN * channels
    return InvertedResidual(
        conv_pw=Pointwise(channels, wide, 1, bias=False),
        bn1=Norm(wide, ReLU6(inplace=True)),
        conv_dw=_depthwise(wide, kernel, stride),
        bn2=Norm(wide, ReLU6(inplace=True)),
        conv_pwl=Pointwise(wide, out, 1, bias=False),
        bn3=Norm(out),
        has_skip=stride == 1 and channels == out,
    )


def _depthwise(channels: int, kernel: int, stride: int) -> Depthwise:
    layer = Depthwise(channels, channels, kernel, stride, kernel // 2, groups=channels, bias=False)
    layer.same = stride > 1
    return layer


def of_weights(weights: dict[str, Tensor]) -> EfficientNetLite0:
    """The network with these tensors as its parameters and statistics; nothing is initialised first."""
    with torch.device("meta"):
        network = EfficientNetLite0()
    network.load_state_dict(weights, assign=True)
    return network
