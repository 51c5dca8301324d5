"""A convolution, BatchNorm and ReLU6 as a link of a chain: what the three layers compute.

To the bit where torch normalizes; with the kernel of `ftt.compiled`, which does so in a third of the time, to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from ftt.compiled.tensors import UNBOUNDED, normalize, normalize_gradient, usable


class Convolution(Protocol):
    """A convolution without bias that can tell its gradients."""

    @property
    def weight(self) -> Tensor: ...

    def convolved(self, x: Tensor) -> Tensor:
        """Its output, without gradients."""

    def input_gradient(self, grad: Tensor, x: Tensor) -> Tensor:
        """The gradient with respect to x of the shape of x."""

    def weight_gradient(self, grad: Tensor, x: Tensor) -> Tensor:
        """The gradient with respect to the weight."""

    def __call__(self, x: Tensor, /) -> Tensor:
        """Its output, with gradients."""


@dataclass(frozen=True)
class Normalized:
    """norm(convolution(x)) in training mode, clipped to 0 … 6 if `clips`."""

    convolution: Convolution
    norm: nn.BatchNorm2d
    clips: bool

    def parameters(self) -> Sequence[Tensor]:
        return self.convolution.weight, self.norm.weight, self.norm.bias

    @property
    def bounds(self) -> tuple[float, float]:
        """Where the output is clipped."""
        return (0, 6) if self.clips else UNBOUNDED

    def forward(self, x: Tensor) -> tuple[Tensor, Sequence[Tensor]]:
        norm, wide = self.norm, self.convolution.convolved(x)
        assert norm.running_mean is not None
        assert norm.running_var is not None
        assert norm.num_batches_tracked is not None
        assert norm.momentum is not None
        norm.num_batches_tracked.add_(1)
        running = norm.running_mean, norm.running_var
        if usable(wide):
            out, *statistics = normalize(wide, norm.weight, norm.bias, running, norm.momentum, norm.eps, self.bounds)
            return out, (wide, *statistics)
        out, *statistics = torch.native_batch_norm(
            wide, norm.weight, norm.bias, *running, True, norm.momentum, norm.eps
        )
        return (out.clamp_(0, 6), (wide, *statistics, out)) if self.clips else (out, (wide, *statistics))

    def backward(
        self, grad: Tensor, x: Tensor, kept: list[Tensor], *, of_input: bool, writable: bool
    ) -> tuple[Tensor | None, Sequence[Tensor]]:
        # What comes back from a mean over pixels has another layout, and BatchNorm is slow if it gets two.
        given = grad.contiguous(memory_format=torch.channels_last)
        grad, *of_norm = self._through_norm(given, kept, writable or given is not grad)
        del given
        d_x = self.convolution.input_gradient(grad, x) if of_input else None
        return d_x, (self.convolution.weight_gradient(grad, x), *of_norm)

    def _through_norm(self, grad: Tensor, kept: list[Tensor], writable: bool) -> tuple[Tensor, ...]:
        """The gradients with respect to the convolution's output, and to the scale and the shift of the norm."""
        scale, shift = self.norm.weight, self.norm.bias
        # What the kernel has clipped follows from what is kept in any case.
        if len(kept) == 3 and (self.clips or usable(grad)):
            wide, mean, precision = kept
            kept.clear()
            return normalize_gradient(grad, wide, scale, shift, mean, precision, self.bounds, in_place=writable)
        if self.clips:
            masked = grad if writable else torch.empty_like(grad)
            grad = torch.ops.aten.hardtanh_backward(grad, kept.pop(), 0, 6, grad_input=masked)
            del masked
        precision, mean = kept.pop(), kept.pop()
        found: tuple[Tensor, ...] = torch.ops.aten.native_batch_norm_backward(
            grad, kept.pop(), scale, None, None, mean, precision, True, self.norm.eps, (True, True, True)
        )
        return found

    def differentiable(self, x: Tensor) -> Tensor:
        norm = self.norm
        out = batch_norm(self.convolution(x), None, None, norm.weight, norm.bias, training=True, eps=norm.eps)
        return out.clamp(0, 6) if self.clips else out
