"""The kernels for training, on tensors: depthwise convolutions, and BatchNorm together with the clipping after it.

Milliseconds of layers of EfficientNet-Lite0 (64 images, one thread, AMD EPYC of the fifth generation, torch 2.13), by
torch, with the faster weight gradients of `ftt.backbones.depthwise`, and by the kernels:

=====  ========  ======  ======  ==========  ==========  ==========
map    channels  kernel  stride  output      d input     d weight
=====  ========  ======  ======  ==========  ==========  ==========
32×16  96        3×3     2       0.35  0.24  0.68  0.53  1.04  0.29
16×8   144       3×3     1       0.24  0.24  0.27  0.24  0.23  0.30
8×4    240       5×5     1       0.19  0.19  0.24  0.18  0.33  0.31
4×2    672       5×5     1       0.16  0.08  0.13  0.08  0.61  0.20
2×1    1152      5×5     1       0.08  0.02  0.05  0.02  0.10  0.07
=====  ========  ======  ======  ==========  ==========  ==========

BatchNorm with clipping takes 0.47 and 0.19 ms on 16×8 with 144 channels, its gradient 0.79 and 0.30.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ftt import compiled

Pair = tuple[int, int]
Pads = tuple[Pair, Pair]
"""Zeros (above, below), (left, right) of a map."""

UNBOUNDED = (-math.inf, math.inf)


def usable(*maps: Tensor) -> bool:
    """Whether the kernels can work on these maps: on a CPU, in one precision, in channels_last, by one thread.

    Autograd does not see what they do, so not where it records.
    """
    return (
        not torch.is_grad_enabled()
        and all(
            x.device.type == "cpu" and x.dtype == maps[0].dtype and x.is_contiguous(memory_format=torch.channels_last)
            for x in maps
        )
        and _precision(maps[0]) in compiled.LANES
        and torch.get_num_threads() == 1
        and not torch.is_autocast_enabled("cpu")
        and compiled.library(_precision(maps[0])) is not None
    )


def convolvable(*maps: Tensor) -> bool:
    """Whether the kernels are usable, and the channels fill their vectors."""
    return usable(*maps) and maps[0].shape[1] % compiled.LANES[_precision(maps[0])] == 0


class _Layout(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_long)
        for name in (
            *("images", "channels", "height", "width", "out_height", "out_width"),
            *("rows", "columns", "down", "across", "top", "left"),
        )
    ]


@functools.lru_cache(maxsize=1024)
def _layout(images: int, channels: int, size: Pair, out: Pair, kernel: Pair, stride: Pair, corner: Pair) -> _Layout:
    return _Layout(images, channels, *size, *out, *kernel, *stride, *corner)


def depthwise(x: Tensor, weight: Tensor, stride: Pair, pads: Pads) -> Tensor:
    """The depthwise convolution of a map.

    Parameters
    ----------
    x : (N, C, H, W) tensor
        Without the zeros around it.
    weight : (C, 1, kh, kw) tensor
    stride : (int, int)
    pads : ((int, int), (int, int))
        Zeros (above, below), (left, right).

    Returns
    -------
    (N, C, h, w) tensor
    """
    height, width = (
        (size + sum(pad) - k) // step + 1
        for size, pad, k, step in zip(x.shape[2:], pads, weight.shape[2:], stride, strict=True)
    )
    return _convolved(x, _taps(weight), (height, width), stride, (pads[0][0], pads[1][0]))


def depthwise_input_gradient(grad: Tensor, x: Tensor, weight: Tensor, stride: Pair, pads: Pads) -> Tensor:
    """The gradient of `depthwise` with respect to x, whose values it does not read."""
    (top, _), (left, _) = pads
    if stride == (1, 1):
        corner = weight.shape[2] - 1 - top, weight.shape[3] - 1 - left
        return _convolved(grad, _taps(weight.flip(2, 3)), _size(x), stride, corner)
    found = _empty(x, x.shape)
    _run("depthwise_input_gradient", found, _taps(weight), grad, _layout_of(found, grad, weight, stride, (top, left)))
    return found


def depthwise_weight_gradient(grad: Tensor, x: Tensor, weight: Tensor, stride: Pair, pads: Pads) -> Tensor:
    """The gradient of `depthwise` with respect to the weight."""
    taps = x.new_zeros((*weight.shape[2:], len(weight)))
    layout = _layout_of(x, grad, weight, stride, (pads[0][0], pads[1][0]))
    _run("depthwise_weight_gradient", x, taps, grad, layout)
    return taps.permute(2, 0, 1).unsqueeze(1)


def _taps(weight: Tensor) -> Tensor:
    """(C, 1, kh, kw) → (kh, kw, C)."""
    return weight.squeeze(1).permute(1, 2, 0).contiguous()


def _convolved(x: Tensor, taps: Tensor, size: Pair, stride: Pair, corner: Pair) -> Tensor:
    out = _empty(x, (*x.shape[:2], *size))
    kernel = taps.shape[0], taps.shape[1]
    layout = _layout(x.shape[0], x.shape[1], _size(x), size, kernel, stride, corner)
    _run("depthwise", x, taps, out, layout)
    return out


def _layout_of(x: Tensor, out: Tensor, weight: Tensor, stride: Pair, corner: Pair) -> _Layout:
    kernel = weight.shape[2], weight.shape[3]
    return _layout(
        x.shape[0], x.shape[1], (x.shape[2], x.shape[3]), (out.shape[2], out.shape[3]), kernel, stride, corner
    )


class _Settings(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_long) for name in ("rows", "channels")),
        *((name, ctypes.c_double) for name in ("momentum", "eps", "low", "high")),
    ]


def normalize(
    x: Tensor,
    scale: Tensor,
    shift: Tensor,
    running: tuple[Tensor, Tensor],
    momentum: float,
    eps: float,
    bounds: tuple[float, float] = UNBOUNDED,
) -> tuple[Tensor, Tensor, Tensor]:
    """BatchNorm in training mode, clipped; also the means of the batch and the inverses of its standard deviations.

    Parameters
    ----------
    x : (N, C, H, W) tensor
    scale, shift : (C,) tensors
    running : (C,) tensors
        Running mean and variance, to which those of the batch are added.
    """
    out = _empty(x, x.shape)
    mean, precision = scale.new_empty(scale.shape), scale.new_empty(scale.shape)
    settings = _Settings(x.numel() // len(scale), len(scale), momentum, eps, *bounds)
    _run("normalize", x, out, scale, shift, *running, mean, precision, settings)
    return out, mean, precision


def normalize_gradient(
    grad: Tensor,
    x: Tensor,
    scale: Tensor,
    shift: Tensor,
    mean: Tensor,
    precision: Tensor,
    bounds: tuple[float, float] = UNBOUNDED,
    *,
    in_place: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of `normalize` with respect to x, scale and shift; the first one in place of `grad` if wanted."""
    d_x = grad if in_place else _empty(grad, grad.shape)
    d_scale, d_shift = scale.new_empty(scale.shape), scale.new_empty(scale.shape)
    settings = _Settings(x.numel() // len(scale), len(scale), 0, 0, *bounds)
    _run("normalize_gradient", grad, x, d_x, scale, shift, mean, precision, d_scale, d_shift, settings)
    return d_x, d_scale, d_shift


def _run(kernel: str, first: Tensor, *others: Tensor | ctypes.Structure) -> None:
    compiled.run(kernel, _precision(first), first, *others)


def _size(of: Tensor) -> Pair:
    return of.shape[2], of.shape[3]


def _precision(x: Tensor) -> str:
    return str(x.dtype).removeprefix("torch.")


def _empty(like: Tensor, shape: Sequence[int]) -> Tensor:
    return torch.empty(*shape, dtype=like.dtype, memory_format=torch.channels_last)
