"""Matrix products of training on a CPU, by oneDNN where torch's own run at half the processor's speed (`ftt.onednn`).

Milliseconds of out = x Wᵀ, its gradient with respect to x and that with respect to W (one thread, AMD EPYC of the fifth
generation, torch 2.13), by MKL and by oneDNN:

======  ===========  ==========  ==========  ==========
rows    columns      out         x           W
======  ===========  ==========  ==========  ==========
32,768  16 → 96      0.98  0.47  1.06  0.45  1.10  0.69
8,192   144 → 24     0.64  0.31  0.50  0.23  0.55  0.32
2,048   40 → 240     0.36  0.16  0.40  0.19  0.40  0.19
512     112 → 672    0.65  0.29  0.66  0.31  0.66  0.35
128     320 → 1280   0.93  0.43  0.89  0.40  0.91  0.45
======  ===========  ==========  ==========  ==========
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ftt import onednn
from ftt.onednn import RELU6

BLOCK = {"torch": 1 << 17, "oneDNN": 1 << 20}
"""Numbers of the wide map in a block. For torch half a megabyte of float32, so that a few blocks fit into a core's
cache; oneDNN takes longer to start and lays matrices out anew, which larger blocks make up for."""

TALL = 512
"""Rows from which on a weight gradient with fewer columns than rows is faster if it is computed transposed."""


def by_onednn(*factors: Tensor) -> bool:
    """Whether oneDNN multiplies these tensors faster than torch."""
    usable = all(tensor.device.type == "cpu" and tensor.dtype == torch.float32 for tensor in factors)
    return usable and not torch.is_autocast_enabled("cpu") and onednn.preferred()


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x Wᵀ + b without gradients."""
    return onednn.linear(x, weight, bias) if by_onednn(x, weight) else torch.nn.functional.linear(x, weight, bias)


def clipped(x: Tensor, weight: Tensor) -> Tensor:
    """(n, c) and (m, c) → clip(x Wᵀ, 0, 6), (n, m)."""
    if by_onednn(x, weight):
        return onednn.linear(x, weight, None, RELU6)
    out = x.new_empty(len(x), len(weight))
    for rows, wide in zip(blocks(x, out), blocks(out, out), strict=True):
        torch.mm(rows, weight.T, out=wide).clamp_(0, 6)
    return out


def multiply_into(out: Tensor, x: Tensor, matrix: Tensor) -> None:
    """out = x M for (n, m) and (m, c)."""
    if by_onednn(x, matrix):
        out.copy_(onednn.linear(x, matrix.T))
    else:
        torch.mm(x, matrix, out=out)


def add_product(total: Tensor, x: Tensor, y: Tensor) -> None:
    """total += xᵀ y for (n, c) and (n, m)."""
    if by_onednn(x, y):
        total += onednn.linear(x.T, y.T)
    else:
        total.addmm_(x.T, y)


def weight_gradient(grad: Tensor, x: Tensor, *, transposed: bool = False) -> Tensor:
    """(n, m) and (n, c) → (m, c): gradᵀ x, as the transpose of a matrix where weights are that too."""
    if not by_onednn(grad, x):
        return (x.T @ grad).T if transposed else grad.T @ x
    if transposed or (len(x) >= TALL and x.shape[1] < grad.shape[1]):
        return onednn.linear(x.T, grad.T).T
    return onednn.linear(grad.T, x.T)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`torch.nn.functional.linear`, for training."""
    if not by_onednn(x, weight):
        return torch.nn.functional.linear(x, weight, bias)
    out: Tensor = _Linear.apply(x.flatten(0, -2), weight, bias)  # type: ignore[no-untyped-call]
    return out.view(*x.shape[:-1], len(weight))


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return onednn.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,) = grads
        x, weight = ctx.saved_tensors
        for_x, for_weight, for_bias = ctx.needs_input_grad
        # Gradients of gradients have to be made of what autograd knows.
        again = torch.is_grad_enabled()
        # A gradient in another layout than its weights is copied when it is added up.
        transposed = not weight.is_contiguous()
        return (
            (grad @ weight if again else onednn.linear(grad, weight.T)) if for_x else None,
            (grad.T @ x if again else weight_gradient(grad, x, transposed=transposed)) if for_weight else None,
            grad.sum(0) if for_bias else None,
        )


def pixels(x: Tensor) -> Tensor:
    """(N, C, H, W) → (N·H·W, C), a view in channels_last."""
    return x.permute(0, 2, 3, 1).flatten(0, 2)


def as_map(rows: Tensor, like: Tensor) -> Tensor:
    """(N·H·W, C) → (N, C, H, W) with the pixels of another map."""
    return rows.view(len(like), *like.shape[2:], -1).permute(0, 3, 1, 2)


def blocks(x: Tensor, wide: Tensor) -> tuple[Tensor, ...]:
    """A matrix in blocks of as many rows as make up a block of the wide one."""
    size = BLOCK["oneDNN" if by_onednn(wide) else "torch"]
    found: tuple[Tensor, ...] = x.split(max(1, size // wide.shape[1]))  # type: ignore[no-untyped-call]
    return found
