"""The widening half of an inverted residual (1×1 convolution, BatchNorm, ReLU6), trained as one layer.

An inverted residual widens a map six times, and BatchNorm goes over the wide map seven times: three forward, four
backward. That is limited by memory, not by arithmetic, and is the largest part of a training step that is no product.
But batch statistics of a linear map follow from its narrow input. With centred rows x (n × c), their covariance Σ, the
convolution's weights W, BatchNorm's γ and β, and the masked gradient g of the clipped output,

    var = diag(W Σ Wᵀ),   r = (var + ε)^(−1/2),   out = clip(x (γrW)ᵀ + β, 0, 6),
    dβ = gᵀ1,   dγ = r · diag(gᵀx Wᵀ),
    dW = γr · (gᵀx − r·dγ·WΣ),
    dx = g (γrW) − (dβ/n) γrW − x Wᵀ(γr · r·dγ/n) W.

All that is left on wide maps is one product forward, two products backward and the clipping. It is done in blocks of
rows that stay in the cache (`products`). β and dβ come from a column of ones next to x.

Milliseconds forward and backward (64 images, one thread, AVX-512, torch 2.13), as three layers and as one:

=======  ==========  ============  =======
map      channels    three layers  one
=======  ==========  ============  =======
32×16    16 → 96     20.6          11.8
16×8     24 → 144    7.6           5.2
8×4      40 → 240    3.5           2.9
48×48    16 → 96     112           56
24×24    24 → 144    40            24
12×12    40 → 240    17            12.5
6×6      80 → 480    9.9           8.9
4×2      80 → 480    2.3           2.9
=======  ==========  ============  =======
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ftt.backbones.normalized import Normalized
from ftt.backbones.products import add_product, as_map, blocks, clipped, multiply_into, pixels

ROWS_PER_CHANNEL = 25
"""Rows (images times pixels) per channel of the narrow map from which on the covariance is worth its cost."""


def worthwhile(x: Tensor) -> bool:
    """Whether a narrow map has enough pixels for its covariance."""
    return x.shape[0] * x.shape[2] * x.shape[3] >= ROWS_PER_CHANNEL * x.shape[1]


@dataclass(frozen=True)
class Widened(Normalized):
    """clip(norm(convolution(x)), 0, 6) for a 1×1 convolution, in training mode."""

    clips: bool = True

    def forward(self, x: Tensor) -> tuple[Tensor, Sequence[Tensor]]:
        norm, weight, rows = self.norm, self.convolution.weight.flatten(1), pixels(x)
        n, c = rows.shape
        mean = rows.mean(0)
        centred = rows.new_ones(n, c + 1)
        torch.sub(rows, mean, out=centred[:, :c])
        spread = weight @ (centred[:, :c].T @ centred[:, :c] / n)
        variance = (spread * weight).sum(1)
        precision = (variance + norm.eps).rsqrt()
        scaled = (norm.weight * precision).unsqueeze(1) * weight
        out = clipped(centred, torch.cat([scaled, norm.bias.unsqueeze(1)], dim=1))
        add_to_running(norm, weight @ mean, variance * (n / (n - 1)))
        return as_map(out, x), (centred, spread, precision, scaled, out)

    def backward(
        self, grad: Tensor, x: Tensor, kept: list[Tensor], *, of_input: bool, writable: bool
    ) -> tuple[Tensor | None, Sequence[Tensor]]:
        centred, spread, precision, scaled, out = kept
        kept.clear()
        weight, gamma = self.convolution.weight.flatten(1), self.norm.weight
        n, c = len(out), weight.shape[1]
        products = out.new_zeros(c + 1, len(weight))
        d_x = out.new_empty(n, c) if of_input else None
        masked: Tensor | None = None
        start = 0
        for rows, wide, given in zip(*(blocks(of, out) for of in (centred, out, pixels(grad))), strict=True):
            masked = torch.empty_like(wide) if masked is None else masked[: len(wide)]
            torch.ops.aten.hardtanh_backward(given, wide, 0, 6, grad_input=masked)
            add_product(products, rows, masked)
            if d_x is not None:
                multiply_into(d_x[start : start + len(wide)], masked, scaled)
            start += len(wide)
        on_rows, d_beta = products[:c].T, products[c]
        d_gamma = precision * (on_rows * weight).sum(1)
        shrunk = precision * d_gamma
        d_weight = (gamma * precision).unsqueeze(1) * (on_rows - shrunk.unsqueeze(1) * spread)
        if d_x is not None:
            back = torch.cat([weight.T @ (shrunk.unsqueeze(1) * scaled), (d_beta @ scaled).unsqueeze(0)])
            d_x.addmm_(centred, back, alpha=-1 / n)
        gradients = d_weight.view_as(self.convolution.weight), d_gamma, d_beta
        return (None if d_x is None else as_map(d_x, x)), gradients


def add_to_running(norm: nn.BatchNorm2d, mean: Tensor, variance: Tensor) -> None:
    """Add the mean and the variance of a batch to the running statistics of a norm."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.num_batches_tracked is not None
    assert norm.momentum is not None
    norm.num_batches_tracked.add_(1)
    norm.running_mean.lerp_(mean, norm.momentum)
    norm.running_var.lerp_(variance, norm.momentum)
