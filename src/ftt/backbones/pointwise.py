"""1×1 convolutions that are trained as matrix products."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d

from ftt.backbones.products import as_map, by_onednn, linear, pixels, product, weight_gradient

SMALL = 32
"""Pixels of a map up to which a 1×1 convolution is trained as a matrix product.

Milliseconds forward and backward as a convolution and as a product (64 images, one thread, AVX-512, torch 2.13):
3.9 and 2.2 on 2×1 (192 → 1152 channels), 2.8 and 2.5 on 4×2 (112 → 672), 1.5 and 1.4 on 8×4 (40 → 240), but 2.9 and 3.2
on 16×8 (144 → 24).
"""


class Pointwise(nn.Conv2d):
    """A 1×1 convolution that is trained as a matrix product, where maps are small or products are fast.

    As a convolution, oneDNN lays out the weights anew at every step, which takes longer than the product if there are
    few pixels.
    """

    @staticmethod
    def suits(layer: nn.Conv2d) -> bool:
        return layer.kernel_size == (1, 1) == layer.stride and layer.padding == (0, 0) and layer.groups == 1

    @classmethod
    def like(cls, layer: nn.Conv2d) -> Pointwise:
        made = cls(layer.in_channels, layer.out_channels, 1, bias=layer.bias is not None, device="meta")
        made.weight, made.bias = layer.weight, layer.bias
        return made.train(layer.training)

    def forward(self, x: Tensor) -> Tensor:
        trained = torch.is_grad_enabled() and self.weight.requires_grad and x.device.type == "cpu"
        if not (trained and self._multiplies(x) and x.is_contiguous(memory_format=torch.channels_last)):
            return super().forward(x)
        return linear(x.permute(0, 2, 3, 1), self.weight.flatten(1), self.bias).permute(0, 3, 1, 2)

    def convolved(self, x: Tensor) -> Tensor:
        """The output without its bias, and without gradients."""
        if not self._multiplies(x):
            return conv2d(x, self.weight)
        return as_map(product(pixels(x), self.weight.flatten(1)), x)

    def input_gradient(self, grad: Tensor, x: Tensor) -> Tensor:
        """The gradient with respect to the input."""
        if not self._multiplies(x):
            return self._native(grad, x, of_input=True)
        return as_map(product(pixels(grad), self.weight.flatten(1).T), x)

    def weight_gradient(self, grad: Tensor, x: Tensor) -> Tensor:
        """The gradient with respect to the weights."""
        if not self._multiplies(x):
            return self._native(grad, x, of_input=False)
        return weight_gradient(pixels(grad), pixels(x)).view_as(self.weight)

    def _multiplies(self, x: Tensor) -> bool:
        return x.shape[2] * x.shape[3] <= SMALL or by_onednn(x, self.weight)

    def _native(self, grad: Tensor, x: Tensor, *, of_input: bool) -> Tensor:
        step = (1, 1), (0, 0), (1, 1), False, (0, 0), 1
        asked = of_input, not of_input, False
        found = torch.ops.aten.convolution_backward(grad, x, self.weight, None, *step, asked)
        gradient: Tensor = found[0 if of_input else 1]
        return gradient
