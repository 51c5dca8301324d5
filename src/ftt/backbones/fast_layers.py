"""Drop-in layers for convolutional networks that train faster on a CPU.

Parameters keep their names and shapes, so weights saved with one kind of layer load into the other. What a layer does
depends on shapes, on the processor and on how the package was installed, never on timings, so a resumed training ends
in the same bits. Features in eval mode keep their bits, or change by rounding where maps are made in `pieces`;
gradients change by rounding, so the features of a trained network move within the noise of rounding.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ftt.backbones.depthwise import Depthwise, is_depthwise
from ftt.backbones.inverted_residual import InvertedResidual
from ftt.backbones.pointwise import Pointwise
from ftt.backbones.products import linear
from ftt.backbones.small_map import SmallMapConv
from ftt.backbones.torchvision_guard import ensure_torchvision_imports


def use_fast_layers(network: nn.Module) -> None:
    """Replace layers of a network in place, each by a faster one that shares its parameters."""
    ensure_torchvision_imports()
    for parent in list(network.modules()):
        for name, child in list(parent.named_children()):
            fast = _faster(child)
            if fast is not None:
                setattr(parent, name, fast)


def use_plain_layers(network: nn.Module) -> None:
    """Undo `use_fast_layers` in place, for exporters that know torch's own layers only."""
    ensure_torchvision_imports()
    for parent in list(network.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, ReLU6):
                setattr(parent, name, nn.ReLU6(inplace=True))
            elif isinstance(child, Depthwise | Pointwise | SmallMapConv):
                setattr(parent, name, _plain(child))
            elif isinstance(child, InvertedResidual):
                setattr(parent, name, _plain_block(child))


def _plain_block(block: InvertedResidual) -> nn.Module:
    from timm.models._efficientnet_blocks import InvertedResidual as TimmInvertedResidual

    made: nn.Module = TimmInvertedResidual.__new__(TimmInvertedResidual)
    made.__dict__.update(block.__dict__)
    return made


def _plain(layer: nn.Conv2d) -> nn.Conv2d:
    from timm.layers.conv2d_same import Conv2dSame

    kind: type[nn.Conv2d] = Conv2dSame if isinstance(layer, Depthwise) and layer.same else nn.Conv2d
    made = kind(
        layer.in_channels,
        layer.out_channels,
        layer.kernel_size,  # type: ignore[arg-type]  # torch annotates what it stores more loosely than what it takes.
        layer.stride,  # type: ignore[arg-type]
        layer.padding,  # type: ignore[arg-type]
        groups=layer.groups,
        bias=layer.bias is not None,
        device="meta",
    )
    made.weight, made.bias = layer.weight, layer.bias
    return made.train(layer.training)


def _faster(layer: nn.Module) -> nn.Module | None:
    from timm.layers.conv2d_same import Conv2dSame
    from timm.models._efficientnet_blocks import InvertedResidual as TimmInvertedResidual

    # Exact types: what a subclass changes is unknown.
    if type(layer) is nn.ReLU6 and layer.inplace:
        return ReLU6(inplace=True)
    if isinstance(layer, nn.Conv2d) and type(layer) in (nn.Conv2d, Conv2dSame) and is_depthwise(layer):
        return Depthwise.like(layer, same=isinstance(layer, Conv2dSame))
    if type(layer) is nn.Conv2d and Pointwise.suits(layer):
        return Pointwise.like(layer)
    if type(layer) is nn.Conv2d and SmallMapConv.suits(layer):
        return SmallMapConv.like(layer)
    if type(layer) is TimmInvertedResidual and InvertedResidual.suits(layer):
        return InvertedResidual.like(layer)
    return None


class Linear(nn.Linear):
    """`torch.nn.Linear` with faster products while it is trained."""

    def forward(self, input: Tensor) -> Tensor:
        trained = torch.is_grad_enabled() and self.weight.requires_grad
        return linear(input, self.weight, self.bias) if trained else super().forward(input)


class ReLU6(nn.ReLU6):
    """`torch.nn.ReLU6` in place, which keeps its output for the backward pass.

    torch's own keeps a copy of its input. The output tells the same: it is strictly between 0 and 6 where the input is.
    """

    def forward(self, input: Tensor) -> Tensor:
        if not (torch.is_grad_enabled() and input.requires_grad):
            return super().forward(input)
        out: Tensor = _ClipInPlace.apply(input)  # type: ignore[no-untyped-call]
        return out


class _ClipInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x.clamp_(0, 6))
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (out,) = ctx.saved_tensors
        (grad,) = grads
        if out.is_contiguous(memory_format=torch.channels_last):
            # What comes back from a mean over pixels has another layout, and BatchNorm is slow if it gets two.
            grad = grad.contiguous(memory_format=torch.channels_last)
        gradient: Tensor = torch.ops.aten.hardtanh_backward(grad, out, 0, 6)
        return gradient
