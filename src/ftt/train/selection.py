"""Which epoch is kept: the last, or the one that does best on the target split.

Liu et al. (JTT) report the epoch with the best worst-group accuracy on validation data, whose labels are as noisy as
those of training here. Groups are label and attribute together, as theirs are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import nn

from ftt.arrays import Float32Array
from ftt.backbones.backbone import Backbone
from ftt.data.grouped import Fittable

ROWS = 256


@dataclass(frozen=True)
class Validation:
    """Target rows that an epoch is judged on.

    Attributes
    ----------
    split : Fittable
        The rows, with observed labels.
    backbone : Backbone
        Prepares the inputs.
    frozen : (n, k) float32 array
        Frozen features of the rows; k = 0 without a freeze stage.
    """

    split: Fittable
    backbone: Backbone
    frozen: Float32Array

    def worst_group(self, network: nn.Module, fabric: Fabric) -> float:
        """The smallest accuracy of a group of observed label and attribute; the network is left as it was."""
        modes = [(module, module.training) for module in network.modules()]
        network.eval()
        right = np.empty(len(self.split), dtype=bool)
        with torch.inference_mode():
            for start in range(0, len(right), ROWS):
                rows = np.arange(start, min(start + ROWS, len(right)))
                x = fabric.to_device(self.backbone.prepare(self.split.inputs.read(rows)))
                frozen = fabric.to_device(torch.from_numpy(np.ascontiguousarray(self.frozen[rows])))
                right[rows] = network(x, frozen).argmax(1).cpu().numpy() == self.split.y[rows]
        for module, mode in modes:
            module.training = mode
        group = self.split.y * len(self.split.info.attributes) + self.split.a
        return min(float(right[group == value].mean()) for value in np.unique(group))
