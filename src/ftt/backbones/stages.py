"""Pooled activations of the stages of a convolutional network, side by side, as features of their own.

A stage ends with the last layer of its resolution. Which layers these are is seen by running the network once, so that
nothing has to be known about its architecture. The last stage is left out: pooled, it is what the network gives anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor, nn

from ftt.backbones.backbone import Backbone
from ftt.backbones.pieces import at_once


class Stages(Backbone):
    """Mean activations of some layers of another backbone.

    Parameters
    ----------
    backbone : Backbone
        The network; it is shared, not copied.
    widths : mapping of str to int
        Layers by name, in order, and their channels; see `find_stages`.
    """

    def __init__(self, backbone: Backbone, widths: Mapping[str, int], weights_id: str = "") -> None:
        super().__init__()
        self.pooled = Pooled(backbone, tuple(widths))
        self.widths: dict[str, int] = dict(widths)
        self.num_features = sum(widths.values())
        self.weights_id = weights_id or f"{backbone.weights_id}+stages"
        # What a family declares for itself holds here for the one instance.
        self.accepts = backbone.accepts  # type: ignore[misc]
        self.prepares_tensors = backbone.prepares_tensors  # type: ignore[misc]

    @property
    def backbone(self) -> Backbone:
        """The network whose layers are looked at."""
        network = self.pooled.network
        assert isinstance(network, Backbone)
        return network

    def prepare(self, batch: npt.NDArray[Any]) -> Tensor:
        return self.backbone.prepare(batch)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.pooled(x)
        return out

    def files(self) -> dict[str, bytes]:
        return self.backbone.files()

    def exportable(self) -> nn.Module:
        return Pooled(self.backbone.exportable(), self.pooled.layers)


class Pooled(nn.Module):
    """A network of which inner layers are returned, each as its mean over the image."""

    def __init__(self, network: nn.Module, layers: Sequence[str]) -> None:
        super().__init__()
        self.network = network
        self.layers = tuple(layers)

    def forward(self, x: Tensor) -> Tensor:
        seen = outputs(self.network, self.layers, x)
        return torch.cat([seen[name].mean(dim=(2, 3)) for name in self.layers], dim=1)


def outputs(network: nn.Module, layers: Sequence[str], x: Tensor) -> dict[str, Any]:
    """What these layers give for a batch, in the order in which they are run."""
    seen: dict[str, Any] = {}

    def keeps(name: str) -> Any:
        def hook(_: nn.Module, __: Any, out: Any) -> None:
            seen[name] = out

        return hook

    # Registered for one batch only: a hook that stays would be copied with the network and write to the original.
    handles = [network.get_submodule(name).register_forward_hook(keeps(name)) for name in layers]
    try:
        with at_once():
            network(x)
    finally:
        for handle in handles:
            handle.remove()
    return seen


def find_stages(backbone: Backbone, example: Tensor) -> dict[str, int]:
    """The last layer of every resolution but the lowest, and its channels, from the first stage on.

    Examples
    --------
    >>> from ftt.backbones.tinyconv import TinyConv
    >>> find_stages(TinyConv(), torch.zeros(1, 3, 32, 32))
    {'net.2': 16, 'net.5': 32}
    """
    names = [name for name, _ in backbone.named_modules() if name]
    with torch.inference_mode():
        seen = outputs(backbone, names, example)
    last: dict[tuple[int, ...], str] = {}
    for name, out in seen.items():
        if isinstance(out, Tensor) and out.ndim == 4 and max(out.shape[2:]) > 1:
            last[tuple(out.shape[2:])] = name
    return {name: int(seen[name].shape[1]) for name in list(last.values())[:-1]}
