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

from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from ftt.backbones.products import add_product, blocks, clipped, multiply_into

ROWS_PER_CHANNEL = 25
"""Rows (images times pixels) per channel of the narrow map from which on the covariance is worth its cost."""


class InvertedResidual(nn.Module):
    """timm's block of this name with the same layers; it differs only while it is trained on a CPU."""

    def __init__(
        self,
        *,
        conv_pw: nn.Conv2d,
        bn1: nn.Module,
        conv_dw: nn.Module,
        bn2: nn.Module,
        conv_pwl: nn.Module,
        bn3: nn.Module,
        has_skip: bool,
    ) -> None:
        super().__init__()
        self.conv_pw, self.bn1 = conv_pw, bn1
        self.conv_dw, self.bn2 = conv_dw, bn2
        self.conv_pwl, self.bn3 = conv_pwl, bn3
        # What timm's block may have between these layers.
        self.aa, self.se, self.drop_path = nn.Identity(), nn.Identity(), nn.Identity()
        self.has_skip = has_skip

    @staticmethod
    def suits(block: Any) -> bool:
        """Whether a block of timm's can be replaced; what it allows besides is rare."""
        convolution, norm = block.conv_pw, block.bn1
        return (
            block.conv_s2d is None
            and convolution.kernel_size == (1, 1) == convolution.stride
            and convolution.padding == (0, 0)
            and convolution.groups == 1
            and convolution.bias is None
            and isinstance(norm, nn.BatchNorm2d)
            and norm.affine
            and norm.track_running_stats
            and norm.momentum is not None
            and isinstance(norm.act, nn.ReLU6)
            and isinstance(norm.drop, nn.Identity)
        )

    @classmethod
    def like(cls, block: nn.Module) -> Self:
        """A block that shares the layers of another one."""
        made = cls.__new__(cls)
        made.__dict__.update(block.__dict__)
        return made

    def forward(self, x: Tensor) -> Tensor:
        # In a folded copy of the network, another layer takes the place of the norm.
        if isinstance(self.bn1, nn.BatchNorm2d) and self.bn1.training and self._is_trained_on(x):
            wide = expand(x, self.conv_pw, self.bn1)
        else:
            wide = self.bn1(self.conv_pw(x))
        narrow = self.bn3(self.conv_pwl(self.se(self.aa(self.bn2(self.conv_dw(wide))))))
        out: Tensor = self.drop_path(narrow) + x if self.has_skip else narrow
        return out

    def _is_trained_on(self, x: Tensor) -> bool:
        weight = self.conv_pw.weight
        return (
            torch.is_grad_enabled()
            and weight.requires_grad
            and x.device.type == "cpu"
            and x.dtype == weight.dtype
            and not torch.is_autocast_enabled("cpu")
            and x.is_contiguous(memory_format=torch.channels_last)
            and x.shape[0] * x.shape[2] * x.shape[3] >= ROWS_PER_CHANNEL * x.shape[1]
        )


def expand(x: Tensor, convolution: nn.Conv2d, norm: nn.BatchNorm2d) -> Tensor:
    """clip(norm(convolution(x)), 0, 6) in training mode, running statistics included; channels_last."""
    n, _, height, width = x.shape
    rows = x.permute(0, 2, 3, 1).flatten(0, 2)
    weight = convolution.weight.flatten(1)
    out, mean, variance = _Expand.apply(rows, weight, norm.weight, norm.bias, norm.eps)  # type: ignore[no-untyped-call]
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.num_batches_tracked is not None
    assert norm.momentum is not None
    norm.num_batches_tracked.add_(1)
    norm.running_mean.lerp_(mean, norm.momentum)
    norm.running_var.lerp_(variance * (len(rows) / (len(rows) - 1)), norm.momentum)
    wide: Tensor = out.view(n, height, width, -1).permute(0, 3, 1, 2)
    return wide


class _Expand(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, gamma: Tensor, beta: Tensor, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        n, c = x.shape
        mean = x.mean(0)
        centred = x.new_ones(n, c + 1)
        torch.sub(x, mean, out=centred[:, :c])
        spread = weight @ (centred[:, :c].T @ centred[:, :c] / n)
        variance = (spread * weight).sum(1)
        precision = (variance + eps).rsqrt()
        scaled = (gamma * precision).unsqueeze(1) * weight
        out = clipped(centred, torch.cat([scaled, beta.unsqueeze(1)], dim=1))
        ctx.save_for_backward(x, weight, gamma, beta, centred, spread, precision, scaled, out)
        ctx.eps = eps
        means = weight @ mean
        ctx.mark_non_differentiable(means, variance)
        return out, means, variance

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        *inputs, centred, spread, precision, scaled, out = ctx.saved_tensors
        if torch.is_grad_enabled():
            # Somebody wants gradients of gradients, so these have to be made of what autograd knows.
            return *_differentiable(inputs, ctx.eps, grads[0], ctx.needs_input_grad), None
        _, weight, gamma, _ = inputs
        n, c = len(out), weight.shape[1]
        products = out.new_zeros(c + 1, len(weight))
        d_x = out.new_empty(n, c) if ctx.needs_input_grad[0] else None
        masked: Tensor | None = None
        start = 0
        for rows, wide, grad in zip(*(blocks(of, out) for of in (centred, out, grads[0])), strict=True):
            masked = torch.empty_like(wide) if masked is None else masked[: len(wide)]
            torch.ops.aten.hardtanh_backward(grad, wide, 0, 6, grad_input=masked)
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
        return d_x, d_weight, d_gamma, d_beta, None


def _differentiable(inputs: list[Tensor], eps: float, grad: Tensor, wanted: tuple[bool, ...]) -> list[Tensor | None]:
    x, weight, gamma, beta = inputs
    out = batch_norm(x @ weight.T, None, None, gamma, beta, training=True, eps=eps).clamp(0, 6)
    asked = [tensor for tensor, needed in zip(inputs, wanted, strict=False) if needed]
    found = iter(torch.autograd.grad(out, asked, grad, create_graph=True))
    return [next(found) if needed else None for needed in wanted[:4]]
