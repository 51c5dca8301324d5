"""Convolutions of maps with fewer pixels than the kernel has taps, trained as one matrix product.

On such a map most taps of a kernel fall on the zeros around it. oneDNN works through them all the same, and its weight
gradient is slower still, so that a ResNet-18 spends a third of a training step at 64×32 pixels on the last three of its
seventeen convolutions. Every pixel of the output is a linear map of all pixels of the input, though, and as one matrix
this has fewer numbers than taps times pixels.

Milliseconds of the output and both gradients (128 images, one thread, AMD EPYC of the fifth generation, torch 2.13), as
a convolution in channels_last and as a product:

=====  ============  ======  ======  ===========  =======
map    channels      kernel  stride  convolution  product
=====  ============  ======  ======  ===========  =======
2×1    512           3×3     1       29.9         3.6
4×2    256 → 512     3×3     2       22.6         6.9
4×2    256           3×3     1       22.9         14.8
2×2    512           3×3     1       49.0         15.3
3×3    512           3×3     1       78.1         81.2
=====  ============  ======  ======  ===========  =======

The last row is one that is left as it is: as many pixels as taps.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from ftt.backbones.depthwise import pair
from ftt.backbones.products import multiply_into, product, weight_gradient
from ftt.compiled.tensors import Pair

LARGEST = 1 << 24
"""Numbers of the matrix up to which it is made: 64 megabytes of float32."""


class SmallMapConv(nn.Conv2d):
    """A dense `torch.nn.Conv2d` with the same parameters, faster on small maps while it is trained.

    Attributes
    ----------
    folded : bool
        Whether it is part of a network that is only run, for which speed counts more than the last bits.
    """

    folded: bool = False

    @staticmethod
    def suits(layer: nn.Conv2d) -> bool:
        return (
            layer.groups == 1
            and pair(layer.kernel_size) != (1, 1)
            and pair(layer.dilation) == (1, 1)
            and layer.padding_mode == "zeros"
            and not isinstance(layer.padding, str)
        )

    @classmethod
    def like(cls, layer: nn.Conv2d) -> Self:
        """A layer that shares the parameters of another one."""
        kernel, stride, padding = pair(layer.kernel_size), pair(layer.stride), pair(layer.padding)
        made = cls(
            layer.in_channels, layer.out_channels, kernel, stride, padding, bias=layer.bias is not None, device="meta"
        )
        made.weight, made.bias = layer.weight, layer.bias
        return made.train(layer.training)

    def forward(self, input: Tensor) -> Tensor:
        trained = torch.is_grad_enabled() and self.weight.requires_grad
        if not ((trained or self.folded) and self.is_small(input)):
            return super().forward(input)
        given = input, self.weight, self.bias, pair(self.stride), pair(self.padding)
        if not trained:
            return _convolve(*given)[0]
        out: Tensor = _Unrolled.apply(*given)  # type: ignore[no-untyped-call]
        return out

    def is_small(self, x: Tensor) -> bool:
        """Whether the map has fewer pixels than the kernel has taps, and can be multiplied here."""
        pixels, (rows, columns) = x.shape[2] * x.shape[3], pair(self.kernel_size)
        if pixels >= rows * columns or x.device.type != "cpu" or x.dtype != self.weight.dtype:
            return False
        taps = _taps(x, self.weight, pair(self.stride), pair(self.padding))
        return (
            taps.height > 0 < taps.width
            and pixels * taps.pixels * self.in_channels * self.out_channels <= LARGEST
            and x.is_contiguous(memory_format=torch.channels_last)
            and not torch.is_autocast_enabled("cpu")
        )


@dataclass(frozen=True)
class Taps:
    """The size of an output map, and which tap of the kernel joins which pixels.

    Attributes
    ----------
    pairs : tuple of (int, int, int, int)
        Pixel of the output, pixel of the input, row and column of the kernel.
    """

    height: int
    width: int
    pairs: tuple[tuple[int, int, int, int], ...]

    @property
    def pixels(self) -> int:
        return self.height * self.width


def _taps(x: Tensor, weight: Tensor, stride: Pair, padding: Pair) -> Taps:
    return taps_of((x.shape[2], x.shape[3]), (weight.shape[2], weight.shape[3]), stride, padding)


@functools.lru_cache(maxsize=256)
def taps_of(size: Pair, kernel: Pair, stride: Pair, padding: Pair) -> Taps:
    """The taps of a convolution of maps of a size, which depend on nothing else."""
    height, width = ((size[d] + 2 * padding[d] - kernel[d]) // stride[d] + 1 for d in (0, 1))
    rows, columns = (
        [
            (out, place, place - out * stride[d] + padding[d])
            for out in range(count)
            for place in range(size[d])
            if 0 <= place - out * stride[d] + padding[d] < kernel[d]
        ]
        for d, count in ((0, height), (1, width))
    )
    pairs = [
        (out_row * width + out_column, row * size[1] + column, up, over)
        for out_row, row, up in rows
        for out_column, column, over in columns
    ]
    return Taps(height, width, tuple(pairs))


def _convolve(x: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair, padding: Pair) -> tuple[Tensor, Tensor]:
    """The output, and the matrix: a block for every pixel of the output and of the input."""
    taps, pixels = _taps(x, weight, stride, padding), x.shape[2] * x.shape[3]
    made = weight.new_empty if len(taps.pairs) == taps.pixels * pixels else weight.new_zeros
    blocks = made(taps.pixels, weight.shape[0], pixels, weight.shape[1])
    for out, place, row, column in taps.pairs:
        blocks[out, :, place] = weight[:, :, row, column]
    matrix = blocks.flatten(2).flatten(0, 1)
    found = product(_flat(x), matrix, None if bias is None else bias.repeat(taps.pixels))
    return found.view(-1, taps.height, taps.width, weight.shape[0]).permute(0, 3, 1, 2), matrix


class _Unrolled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair, padding: Pair) -> Tensor:
        found, matrix = _convolve(x, weight, bias, stride, padding)
        ctx.save_for_backward(x, weight, matrix)
        ctx.stride, ctx.padding, ctx.biased = stride, padding, bias is not None
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,) = grads
        x, weight, matrix = ctx.saved_tensors
        for_x, for_weight, for_bias = ctx.needs_input_grad[:3]
        if torch.is_grad_enabled():
            # Somebody wants gradients of gradients, which torch knows of its own convolution.
            sizes, mask = [len(weight)] if ctx.biased else None, [for_x, for_weight, for_bias]
            known = torch.ops.aten.convolution_backward(
                grad, x, weight, sizes, ctx.stride, ctx.padding, (1, 1), False, (0, 0), 1, mask
            )
            return *known, None, None
        d_x = d_weight = None
        flat = _flat(grad)
        if for_x:
            d_rows = x.new_empty(len(x), matrix.shape[1])
            multiply_into(d_rows, flat, matrix)
            d_x = d_rows.view(len(x), *x.shape[2:], -1).permute(0, 3, 1, 2)
        if for_weight:
            taps = _taps(x, weight, ctx.stride, ctx.padding)
            blocks = weight_gradient(flat, _flat(x)).reshape(taps.pixels, weight.shape[0], -1, weight.shape[1])
            d_weight = torch.zeros_like(weight)
            for out, place, row, column in taps.pairs:
                d_weight[:, :, row, column] += blocks[out, :, place]
        return d_x, d_weight, grad.sum((0, 2, 3)) if for_bias else None, None, None


def _flat(x: Tensor) -> Tensor:
    """(N, C, H, W) → (N, H·W·C), a view in channels_last."""
    return x.permute(0, 2, 3, 1).flatten(1)
