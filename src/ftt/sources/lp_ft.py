"""Features of a network whose head was fitted before anything else was trained.

Kumar et al., *Fine-tuning can distort pretrained features and underperform out-of-distribution*, ICLR 2022 (LP-FT):

1. Linear probing: logistic regression on the initial features of the training split.
2. Fine-tuning: all layers, from the initial weights with that head.

With a random head the first steps of fine-tuning move the features for the head's sake; with a fitted one they have
less reason to. The head is fitted on the observed labels, so it knows the shortcut as well as they do.

When not to use: against a shortcut that is cleaner than the core. Both steps then learn the shortcut. And not at a
learning rate that was chosen for a random head: a fitted one is large where features are small, and the first steps are
as much longer. On digits 0.05 ends in a constant classifier, 0.001 does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import nn

from ftt.params import param
from ftt.probe import DFRProbe
from ftt.sources.source import Source, Start

if TYPE_CHECKING:
    from ftt.train.fitting import Job
    from ftt.train.model import Block
    from ftt.train.two_branch import TwoBranch


@dataclass(frozen=True)
class LpFt(Source):
    """Features of a network that was trained from a fitted head on."""

    name: ClassVar[str] = "lp-ft"
    needs: ClassVar[tuple[str, ...]] = ("lp-ft",)

    by: str = param("erm", help="method by name")

    def fit(self, job: Job) -> Block:
        phi = job.features([job.initial_block()], job.split)
        # One group: the paper's step knows no attribute. C is chosen on held-out halves.
        probe = DFRProbe(averages=1, random_state=job.seed).fit(phi, job.split.y)
        # The head follows from the rows, labels and seed that are in the training's key already.
        return job.train_alone(self.by, Start(self.name, lambda network: start_from(network, probe)))


def start_from(network: TwoBranch, probe: DFRProbe) -> None:
    """Give a network the head of a probe of its initial features; the layer before it starts as the identity."""
    weight, offset = probe.coef_, probe.intercept_
    if len(weight) == 1:
        # Two classes have one row of weights; two logits of opposite sign give the same probabilities.
        weight, offset = np.concatenate([-weight, weight]) / 2, np.concatenate([-offset, offset]) / 2
    rows = torch.as_tensor(probe.classes_.astype(np.int64))
    with torch.no_grad():
        nn.init.eye_(network.project.weight)
        network.project.bias.zero_()
        network.head.weight.zero_()
        # A class that no training row has gets no weight, and an offset that makes it unlikely.
        network.head.bias.fill_(-10.0 if len(rows) < len(network.head.bias) else 0.0)
        network.head.weight[rows] = torch.as_tensor(weight, dtype=torch.float32)
        network.head.bias[rows] = torch.as_tensor(offset, dtype=torch.float32)
