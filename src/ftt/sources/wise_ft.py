"""Weights interpolated between the initial and the trained network.

Wortsman et al., *Robust fine-tuning of zero-shot models*, CVPR 2022 (WiSE-FT):

    θ_α = (1 − α)·θ_initial + α·θ_trained.

BatchNorm statistics belong to weights, not to their mean, so they are estimated anew on the training inputs, without
labels. Without a given α the one is taken whose features probe best on held-out halves of the target split.

When not to use: where one training step is so large that the two networks no longer lie in one basin; and where the
trained network has lost the core entirely, since every mixture is then worse than the initial one.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import nn

from ftt.backbones import Backbone
from ftt.data.inputs import Inputs
from ftt.params import digest, param
from ftt.probe import DFRProbe
from ftt.sources.source import Source

if TYPE_CHECKING:
    from ftt.train.fitting import Job
    from ftt.train.model import Block

CANDIDATES = (0.25, 0.5, 0.75)
CALIBRATION = 512
"""Training rows from which BatchNorm statistics are estimated anew."""


@dataclass(frozen=True)
class WiseFT(Source):
    """Features of the network between the initial and the trained one."""

    name: ClassVar[str] = "wise-ft"
    needs: ClassVar[tuple[str, ...]] = ("trained",)
    uses_target: ClassVar[bool] = True

    alpha: float | None = param(
        None, help="share of the trained weights; chosen on the target split if not given", low=0, high=1
    )
    by: str = param("erm", help="method by name")

    def fit(self, job: Job) -> Block:
        if self.alpha is not None:
            return self._between(job, self.alpha)
        target = job.require_target("wise-ft")
        scores: dict[float, float] = {}
        for alpha in CANDIDATES:
            phi = job.features([self._between(job, alpha)], target)
            probe = DFRProbe(random_state=job.seed).fit(phi, target.y, attribute=target.a)
            scores[alpha] = probe.worst_by_C_[probe.C_]
        return self._between(job, max(scores, key=lambda alpha: scores[alpha]))

    def _between(self, job: Job, alpha: float) -> Block:
        trained = job.train_alone(self.by).branch
        backbone = interpolate(job.initial, trained.backbone, alpha)
        recalibrate(backbone, job.split.inputs)
        backbone.weights_id = f"{job.initial.weights_id}+wise-ft@{digest(trained.key, alpha)[:16]}"
        return job.initial_block(backbone)


def interpolate(initial: Backbone, trained: nn.Module, alpha: float) -> Backbone:
    """A copy of the initial network with weights between its own and those of another."""
    between = copy.deepcopy(initial)
    other = trained.state_dict()
    with torch.no_grad():
        for name, value in between.state_dict().items():
            if value.is_floating_point():
                value.lerp_(other[name], alpha)
    return between


def recalibrate(backbone: Backbone, inputs: Inputs) -> None:
    """Estimate BatchNorm statistics anew on training inputs."""
    layers = [m for m in backbone.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    if not layers:
        return
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # A plain mean over the batches below.
    rows = np.arange(min(CALIBRATION, len(inputs)))
    with torch.no_grad():
        backbone.train()
        for start in range(0, len(rows), 64):
            backbone(backbone.prepare(inputs.read(rows[start : start + 64])))
        backbone.eval()
