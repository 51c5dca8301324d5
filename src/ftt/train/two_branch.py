"""The network of Algorithm 1: a frozen branch, a trained branch, one head on both.

The frozen branch is only a table of numbers here: its features were computed once, with the deterministic transform,
and are handed in. It therefore has no parameters, gets no gradient and no weight decay, and its BatchNorm never moves.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from ftt.backbones.backbone import Backbone
from ftt.backbones.fast_layers import Linear
from ftt.backbones.products import linear
from ftt.rng import torch_seeded


class TwoBranch(nn.Module):
    """h([M_ul(x), M_sl(x)·W_sl]).

    Parameters
    ----------
    backbone : Backbone
        M; copied, so that the initial model stays as it is.
    frozen_dims : int
        p·m, the width of the frozen features handed to `forward`.
    n_classes : int
        K.
    """

    def __init__(self, backbone: Backbone, frozen_dims: int, n_classes: int) -> None:
        super().__init__()
        m = backbone.num_features
        self.frozen_dims = frozen_dims
        self.backbone = copy.deepcopy(backbone)
        self.project = Linear(m, m - frozen_dims)
        self.head = nn.Linear(m, n_classes)

    def forward(self, x: Tensor, frozen: Tensor) -> Tensor:
        """Logits (B, K) of prepared inputs and their (B, p·m) frozen features.

        Nothing is between W_sl and h, so φ·(W_sl·h) is computed in place of (φ·W_sl)·h. With all its gradients that
        costs K/B of pushing a batch of B rows through the wide W_sl, which takes 3 of the 85 ms of a step of
        EfficientNet-Lite0 at 64×32.
        """
        phi: Tensor = self.backbone(x)
        if len(x) <= len(self.head.weight):
            logits: Tensor = self.head(torch.cat([frozen, self.project(phi)], dim=1))
            return logits
        on_frozen, on_trained = self.head.weight[:, : self.frozen_dims], self.head.weight[:, self.frozen_dims :]
        direct = linear(on_trained, self.project.weight.T)
        offset = on_trained @ self.project.bias + self.head.bias
        return linear(phi, direct, offset) + frozen @ on_frozen.T


def build(backbone: Backbone, frozen_dims: int, n_classes: int, seed: int) -> TwoBranch:
    """A network whose new layers are initialised from the seed alone."""
    with torch_seeded(seed, "new layers"):
        return TwoBranch(backbone, frozen_dims, n_classes)
