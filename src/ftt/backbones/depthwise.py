"""Depthwise convolutions that are trained fast on a CPU.

A training in one thread computes them and their gradients with the kernels of `ftt.compiled`. What follows is for where
these were not compiled, for several threads, and for channels that do not fill their vectors.

oneDNN has a fast kernel for the weight gradient of a depthwise convolution only if the kernel is at most three columns
wide and not taller than the map. Otherwise this gradient takes 4 to 60 times as long as the forward pass, and
EfficientNets, with their 5×5 kernels, spend most of a training step on it. The forward pass and the input gradient are
fast as they are. So only the weight gradient is computed differently, from views of the same memory:

- Maps less tall than the kernel: each tap is a sum of products over the pixels it reads.
- Stride 1, five columns: the middle three columns are a kernel of three columns. In channels_last, a map with C
  channels is also a map with 2·C channels and half the width, in which columns two apart are neighbours; there, the two
  outer columns belong to a kernel of three columns as well.
- Stride 2: in the map of half the width, an output reads at most three columns.

TensorFlow's ``SAME`` padding at stride 2 adds one more zero after the map than before it, for which timm copies the map
into a larger one. A kernel with an additional row and column of zeros gives the same bits without a copy.

The choice depends on shapes alone, never on timings taken while running: a resumed training must compute exactly what
an uninterrupted one does. Milliseconds of the weight gradient of layers of EfficientNet-Lite0 (64 images, one thread,
AVX-512, torch 2.13), torch's and this one:

=======  ======  ======  ========  =====  ====
map      kernel  stride  channels  torch  here
=======  ======  ======  ========  =====  ====
2×1      5×5     1       1152      11.4   0.5
2×1      3×3     1       1152      6.8    0.5
4×2      5×5     1       672       7.0    1.4
4×2      5×5     2       672       7.0    0.7
8×4      5×5     1       240       4.6    1.0
16×8     5×5     2       144       4.8    1.5
3×3      5×5     1       1152      16.3   3.2
6×6      5×5     1       672       15.1   4.1
12×12    5×5     1       240       17.7   5.6
24×24    5×5     2       144       14.4   5.5
4×4      5×5     1       1152      19.7   6.7
8×8      5×5     1       672       24.3   7.5
=======  ======  ======  ========  =====  ====

Features in eval mode keep their bits. Gradients change by rounding, so the features of a trained network move within
the noise of rounding, as they do when the number of threads changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad

from ftt.compiled import tensors
from ftt.compiled.tensors import Pads, Pair, convolvable


class Depthwise(nn.Conv2d):
    """A depthwise `torch.nn.Conv2d` with the same parameters, the same outputs and a faster backward pass."""

    same: bool = False
    """Whether zeros are added as TensorFlow's ``SAME`` does, depending on the size of the map."""

    @classmethod
    def like(cls, layer: nn.Conv2d, same: bool) -> Self:
        """A layer that shares the parameters of another one."""
        made = cls(
            layer.in_channels,
            layer.out_channels,
            pair(layer.kernel_size),
            pair(layer.stride),
            pair(layer.padding),
            groups=layer.groups,
            bias=layer.bias is not None,
            device="meta",
        )
        made.weight, made.bias, made.same = layer.weight, layer.bias, same
        return made.train(layer.training)

    def forward(self, x: Tensor) -> Tensor:
        stride, pads = self.steps(x)
        if x.device.type != "cpu" or x.dtype != self.weight.dtype or torch.is_autocast_enabled("cpu"):
            (top, bottom), (left, right) = pads
            return conv2d(pad(x, (left, right, top, bottom)), self.weight, self.bias, stride, 0, 1, self.groups)
        if torch.is_grad_enabled() and self.weight.requires_grad:
            out: Tensor = _Convolve.apply(x, self.weight, self.bias, stride, pads)  # type: ignore[no-untyped-call]
            return out
        return _convolve(x, self.weight, self.bias, stride, pads)

    def convolved(self, x: Tensor) -> Tensor:
        """The output without its bias, and without gradients."""
        return convolved(x, self.weight, *self.steps(x))

    def input_gradient(self, grad: Tensor, x: Tensor) -> Tensor:
        """The gradient with respect to the input."""
        return input_gradient(grad, x, self.weight, *self.steps(x))

    def weight_gradient(self, grad: Tensor, x: Tensor) -> Tensor:
        """The gradient with respect to the weights."""
        return weight_gradient(grad, x, self.weight, *self.steps(x))

    def symmetric(self, x: Tensor) -> tuple[Tensor, Pair]:
        """Weights that give the same output with as many zeros on either side of the map, and the number of zeros."""
        return _symmetric(self.weight, self.steps(x)[1])

    def steps(self, x: Tensor) -> tuple[Pair, Pads]:
        """The stride, and the zeros around this map."""
        sizes = zip(x.shape[2:], pair(self.kernel_size), pair(self.stride), pair(self.padding), strict=True)
        rows, columns = (same_pads(n, k, s) if self.same else (p, p) for n, k, s, p in sizes)
        return pair(self.stride), (rows, columns)


def is_depthwise(layer: nn.Conv2d) -> bool:
    """Whether a layer can be replaced by `Depthwise`."""
    return (
        layer.groups == layer.in_channels == layer.out_channels > 1
        and pair(layer.dilation) == (1, 1)
        and layer.padding_mode == "zeros"
        and not isinstance(layer.padding, str)
    )


class _Convolve(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair, pads: Pads) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.stride, ctx.pads = stride, pads
        out = convolved(x, weight, stride, pads)
        return out if bias is None else out.add_(bias.view(-1, 1, 1))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,) = grads
        x, weight = ctx.saved_tensors
        for_x, for_weight, for_bias = ctx.needs_input_grad[:3]
        return (
            input_gradient(grad, x, weight, ctx.stride, ctx.pads) if for_x else None,
            weight_gradient(grad, x, weight, ctx.stride, ctx.pads) if for_weight else None,
            grad.sum((0, 2, 3)) if for_bias else None,
            None,
            None,
        )


def convolved(x: Tensor, weight: Tensor, stride: Pair, pads: Pads) -> Tensor:
    """A depthwise convolution for training, without gradients; arguments as for `weight_gradient`."""
    return tensors.depthwise(x, weight, stride, pads) if convolvable(x) else _convolve(x, weight, None, stride, pads)


def input_gradient(grad: Tensor, x: Tensor, weight: Tensor, stride: Pair, pads: Pads) -> Tensor:
    """The gradient of a depthwise convolution with respect to its input; arguments as for `weight_gradient`."""
    if convolvable(grad, x):
        return tensors.depthwise_input_gradient(grad, x, weight, stride, pads)
    return _native(grad, x, weight, stride, pads, of_input=True)


def weight_gradient(grad: Tensor, x: Tensor, weight: Tensor, stride: Pair, pads: Pads) -> Tensor:
    """The gradient of a depthwise convolution with respect to its weights.

    Parameters
    ----------
    grad : (N, C, h, w) tensor
        Gradient with respect to the output.
    x : (N, C, H, W) tensor
        Input, without the zeros around it.
    weight : (C, 1, kh, kw) tensor
    stride : (int, int)
    pads : ((int, int), (int, int))
        Zeros (above, below), (left, right).

    Returns
    -------
    (C, 1, kh, kw) tensor
    """
    if convolvable(grad, x):
        return tensors.depthwise_weight_gradient(grad, x, weight, stride, pads)
    rows, columns = pads
    height, width = weight.shape[2] + abs(rows[1] - rows[0]), weight.shape[3] + abs(columns[1] - columns[0])
    if x.shape[2] < height:
        return _by_tap(grad, x, weight, stride, pads)
    if width > 3 and stride[1] == 1 and weight.shape[3] == 5 and columns == (2, 2):
        return _by_middle_and_outer(grad, x, weight.shape[2], stride, rows)
    offsets = range(-columns[0], weight.shape[3] - columns[0])
    halved = stride[1] == 2 and grad.shape[3] == -(-x.shape[3] // 2)
    if width > 3 and halved and offsets[0] >= -2 and offsets[-1] <= 3:
        return _by_parity(grad, x, weight.shape[2], stride, rows, offsets)
    return _native(grad, x, weight, stride, pads, of_input=False)


def _by_tap(grad: Tensor, x: Tensor, weight: Tensor, stride: Pair, pads: Pads) -> Tensor:
    ours, theirs = _pixels(grad), _pixels(x)
    taps = grad.new_zeros(*weight.shape[2:], weight.shape[0])
    for row, up, above in _meetings(weight.shape[2], stride[0], pads[0][0], x.shape[2], grad.shape[2]):
        for column, over, beside in _meetings(weight.shape[3], stride[1], pads[1][0], x.shape[3], grad.shape[3]):
            taps[row, column] = (theirs[:, above, beside] * ours[:, up, over]).sum((0, 1, 2))
    return taps.permute(2, 0, 1).unsqueeze(1)


def _by_middle_and_outer(grad: Tensor, x: Tensor, height: int, stride: Pair, rows: Pair) -> Tensor:
    middle = _three_columns(grad, x, height, stride, rows)
    parities = _three_columns(_halved(grad), _halved(x), height, stride, rows)
    outer = parities.view(2, *middle.shape).sum(0)
    return torch.cat([outer[..., :1], middle, outer[..., 2:]], dim=-1)


def _by_parity(grad: Tensor, x: Tensor, height: int, stride: Pair, rows: Pair, offsets: range) -> Tensor:
    twice = torch.cat([_pixels(grad)] * 2, dim=3).permute(0, 3, 1, 2)
    parities = _three_columns(twice, _halved(x), height, (stride[0], 1), rows).view(2, x.shape[1], 1, height, 3)
    return torch.stack([parities[offset % 2, ..., offset // 2 + 1] for offset in offsets], dim=-1)


def _three_columns(grad: Tensor, x: Tensor, height: int, stride: Pair, rows: Pair) -> Tensor:
    """The weight gradient of a kernel of three columns with one column of zeros on either side."""
    return _native(grad, x, x.new_empty(x.shape[1], 1, height, 3), stride, (rows, (1, 1)), of_input=False)


def _halved(x: Tensor) -> Tensor:
    """(N, C, H, W) → (N, 2·C, H, ⌈W/2⌉): even columns in the first C channels, odd ones in the others; a view."""
    if x.shape[3] % 2:
        x = pad(x, (0, 1))
    n, c, height, width = x.shape
    return _pixels(x).reshape(n, height, width // 2, 2 * c).permute(0, 3, 1, 2)


def _pixels(x: Tensor) -> Tensor:
    """(N, C, H, W) → (N, H, W, C), a view in channels_last."""
    return x.permute(0, 2, 3, 1)


def _meetings(kernel: int, stride: int, before: int, size: int, out: int) -> Iterator[tuple[int, slice, slice]]:
    """For each tap of a kernel along one axis: the outputs for which it reads an input, and these inputs."""
    for tap in range(kernel):
        offset = tap - before
        first, last = max(0, -(offset // stride)), min(out - 1, (size - 1 - offset) // stride)
        if first <= last:
            yield tap, slice(first, last + 1), slice(first * stride + offset, last * stride + offset + 1, stride)


def _convolve(x: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair, pads: Pads) -> Tensor:
    wide, padding = _symmetric(weight, pads)
    return conv2d(x, wide, bias, stride, padding, 1, weight.shape[0])


def _native(grad: Tensor, x: Tensor, weight: Tensor, stride: Pair, pads: Pads, of_input: bool) -> Tensor:
    """The backend's gradient with respect to the input or to the weights."""
    wide, padding = _symmetric(weight, pads)
    mask = [of_input, not of_input, False]
    gradients = torch.ops.aten.convolution_backward(
        grad, x, wide, None, stride, padding, (1, 1), False, (0, 0), weight.shape[0], mask
    )
    if of_input:
        found: Tensor = gradients[0]
        return found
    (top, bottom), (left, right) = pads
    found = gradients[1][..., max(bottom - top, 0) :, max(right - left, 0) :]
    return found[..., : weight.shape[2], : weight.shape[3]]


def _symmetric(weight: Tensor, pads: Pads) -> tuple[Tensor, Pair]:
    """A kernel with zeros added to it that needs as many zeros on either side of the map, and their number."""
    (top, bottom), (left, right) = pads
    if top != bottom or left != right:
        more = max(right - left, 0), max(left - right, 0), max(bottom - top, 0), max(top - bottom, 0)
        weight = pad(weight, more)
    return weight, (max(top, bottom), max(left, right))


def same_pads(size: int, kernel: int, stride: int) -> Pair:
    """Zeros before and after an axis of a map, as TensorFlow's ``SAME`` adds them."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def pair(value: tuple[int, ...] | str) -> Pair:
    """Types of `torch.nn.Conv2d` are wider than its values."""
    assert not isinstance(value, str)
    return value[0], value[1]
