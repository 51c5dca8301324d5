"""A frozen backbone that is faster to run: BatchNorm folded into the convolutions before it.

In eval mode BatchNorm is a fixed scale and shift, which the convolution before it can do for free. Which convolution
comes before is guessed from the order in which modules are registered, and the guess is checked: a folded network that
does not give the same features is thrown away.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from ftt.backbones.base import Backbone

TOLERANCE = 1e-3
"""Largest difference of a feature, in units of the features' own spread, that rounding may make."""


def folded(backbone: Backbone, example: Tensor) -> Backbone:
    """A copy of a backbone in eval mode, folded where that changes nothing but speed.

    Parameters
    ----------
    example : tensor
        A few prepared inputs, on which the copy is compared with the original.
    """
    original = copy.deepcopy(backbone).eval().requires_grad_(False)
    fast = copy.deepcopy(original)
    _fold_below(fast)
    with torch.inference_mode():
        expected, got = original(example), fast(example)
    spread = expected.std().clamp(min=1e-12)
    same = bool(torch.isfinite(got).all()) and float((expected - got).abs().max() / spread) < TOLERANCE
    return fast if same else original


def _fold_below(parent: nn.Module) -> None:
    before: tuple[str, nn.Conv2d] | None = None
    for name, child in list(parent.named_children()):
        if isinstance(child, nn.Conv2d):
            before = name, child
        elif isinstance(child, nn.BatchNorm2d) and before is not None and _fits(before[1], child):
            setattr(parent, before[0], fuse_conv_bn_eval(before[1], child))
            setattr(parent, name, _rest(child))
            before = None
        else:
            _fold_below(child)


def _fits(convolution: nn.Conv2d, norm: nn.BatchNorm2d) -> bool:
    return norm.track_running_stats and convolution.out_channels == norm.num_features


def _rest(norm: nn.BatchNorm2d) -> nn.Module:
    """What a BatchNorm does besides: timm's carry their activation."""
    activation = getattr(norm, "act", None)
    return activation if isinstance(activation, nn.Module) else nn.Identity()
