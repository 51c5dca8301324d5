"""A network in eval mode that is faster to run: BatchNorm folded into the convolutions before it, ReLU fused into them.

In eval mode BatchNorm is a fixed scale and shift, which the convolution before it can do for free, and it can clip as
well where the norm carries its activation (`fused_convolution`). Which convolution comes before is guessed from the
order in which modules are registered, and the guess is checked: a folded network that does not give the same features
is thrown away. On a CPU, TorchScript can lay out the weights of dense convolutions for oneDNN and let them add and clip
as they go; that is checked too, and done without where it fails.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from ftt.backbones.backbone import Backbone
from ftt.backbones.fused_convolution import FusedConvolution
from ftt.backbones.small_map import SmallMapConv

M = TypeVar("M", bound=nn.Module)

EXAMPLES = 8
"""Inputs of a batch on which networks are compared."""

TOLERANCE = 1e-3
"""Largest difference of a feature, in units of the features' own spread, that rounding may make."""


def folded(network: M, batch: Tensor, *, fuse: bool = True) -> M:
    """A copy of a network in eval mode, folded where that changes nothing but speed.

    Parameters
    ----------
    batch : tensor
        Prepared inputs; the copy is compared with the original on a few of them.
    fuse : bool
        Whether convolutions clip as they go.
    """
    original = copy.deepcopy(network).eval().requires_grad_(False)
    if not _norms(original):
        return original
    fast = copy.deepcopy(original)
    _fold_below(fast, fuse)
    return fast if _same(fast, original, batch[:EXAMPLES]) else original


def fused(backbone: Backbone, batch: Tensor) -> Callable[[Tensor], Tensor]:
    """The fastest way to the features of a backbone in eval mode: folded, and compiled where that helps.

    Parameters
    ----------
    batch : tensor
        Prepared inputs; results are compared on a few of them.
    """
    example = batch[:EXAMPLES]
    convolutions = [module for module in backbone.modules() if isinstance(module, nn.Conv2d)]
    # Depthwise convolutions are fast in channels_last only, which oneDNN's own layout is not.
    dense = bool(convolutions) and all(convolution.groups == 1 for convolution in convolutions)
    compiles = dense and example.device.type == "cpu" and bool(_norms(backbone))
    plain = folded(backbone, example, fuse=not compiles)
    if not compiles or _norms(plain):
        return plain
    try:
        with warnings.catch_warnings(), torch.no_grad():
            # Deprecated, and without a successor that compiles in under a second.
            warnings.simplefilter("ignore")
            compiled: Callable[[Tensor], Tensor] = torch.jit.optimize_for_inference(torch.jit.trace(plain, example))  # type: ignore[no-untyped-call]
        # On fewer rows too: a trace may have taken the size of the batch for a constant.
        usable = _same(compiled, plain, example) and _same(compiled, plain, example[:1])
    except (RuntimeError, AttributeError):
        # TorchScript does not know oneDNN's products, for one.
        return folded(backbone, example)
    return compiled if usable else folded(backbone, example)


class FoldedOnce:
    """A network in eval mode for many batches: made faster when it sees the first, without gradients.

    Parameters
    ----------
    network : torch.nn.Module
        Not to be trained afterwards: what is run is a copy.
    how : callable
        `folded`, or `fused` where many batches follow.
    """

    def __init__(self, network: M, how: Callable[[M, Tensor], Callable[[Tensor], Tensor]] = folded) -> None:
        self.network, self.how = network, how
        self._fast: Callable[[Tensor], Tensor] | None = None

    def __call__(self, x: Tensor) -> Tensor:
        if self._fast is None:
            self._fast = self.how(self.network.to(x.device), x)
        with torch.inference_mode():
            return self._fast(x)


def _same(got: Callable[[Tensor], Tensor], wanted: Callable[[Tensor], Tensor], example: Tensor) -> bool:
    """Whether two ways give the same features but for rounding."""
    with torch.inference_mode():
        features, expected = got(example), wanted(example)
    if features.shape != expected.shape or not bool(torch.isfinite(features).all()):
        return False
    return float((expected - features).abs().max() / expected.std().clamp(min=1e-12)) < TOLERANCE


def _norms(module: nn.Module) -> int:
    return sum(isinstance(child, nn.BatchNorm2d) for child in module.modules())


def _fold_below(parent: nn.Module, fuse: bool) -> None:
    before: tuple[str, nn.Conv2d] | None = None
    for name, child in list(parent.named_children()):
        if isinstance(child, nn.Conv2d):
            before = name, child
        elif isinstance(child, nn.BatchNorm2d) and before is not None and _fits(before[1], child):
            convolution, rest = fuse_conv_bn_eval(before[1], child), _rest(child)
            if isinstance(convolution, SmallMapConv):
                convolution.folded = True
            if fuse and FusedConvolution.suits(convolution, rest):
                setattr(parent, before[0], FusedConvolution(convolution, rest))
                rest = nn.Identity()
            else:
                setattr(parent, before[0], convolution)
            setattr(parent, name, rest)
            before = None
        else:
            _fold_below(child, fuse)


def _fits(convolution: nn.Conv2d, norm: nn.BatchNorm2d) -> bool:
    return norm.track_running_stats and convolution.out_channels == norm.num_features


def _rest(norm: nn.BatchNorm2d) -> nn.Module:
    """What a BatchNorm does besides: timm's carry their activation."""
    activation = getattr(norm, "act", None)
    return activation if isinstance(activation, nn.Module) else nn.Identity()
