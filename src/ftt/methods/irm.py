"""Invariant risk minimisation.

Arjovsky et al., *Invariant risk minimization*, 2019 (IRMv1). With R_e(s) the risk of environment e when the logits are
multiplied by s,

    loss = mean_e R_e(1) + λ · mean_e D_e,      D_e = R'_{e,even}(1) · R'_{e,odd}(1),

an unbiased estimate of the squared derivative from the even and odd rows of the environment (estimate ``product``), or
D_e = R'_e(1)² from all of its rows (``square``, what their experiment on coloured MNIST computes with all rows in every
batch). The derivative has a closed form, mean_i Σ_k (softmax_ik − [k = y_i])·logit_ik, so no second pass through
autograd is needed.

``environments`` is DomainBed's schedule, which the paper names: environments are those of the data, or else the
attribute values, λ is 1 for 500 steps and 100 afterwards, the optimiser starts anew at the switch. ``halves`` is what
the released FTT code ran: the whole batch is one environment and λ = min(epoch, 10). When not to use ``environments``:
where the attribute follows the label almost exactly, as in Dominoes without spurious noise, each environment has one
class only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ftt.methods.method import Batch, Method, Outputs, State
from ftt.params import param


@dataclass(frozen=True)
class IRM(Method):
    """Mean risk plus the squared derivative of each environment's risk."""

    name: ClassVar[str] = "irm"
    whole_batch: ClassVar[bool] = True

    variant: str = param(
        "environments",
        help="DomainBed's schedule, or the loss of the released code",
        choices=("environments", "halves"),
    )
    penalty: float = param(100.0, help="penalty weight λ after the warm-up (variant environments)", low=0)
    warmup: int = param(500, help="steps with λ = 1 (variant environments)", low=0)
    estimate: str = param(
        "product",
        help="squared derivative: product over two halves of an environment, or square over all of it",
        choices=("product", "square"),
        added=True,
    )

    def loss(self, outputs: Outputs, batch: Batch, state: State) -> Tensor:
        if self.variant == "halves":
            weight, members = float(min(batch.epoch, 10)), [torch.arange(len(batch.y), device=batch.y.device)]
        else:
            weight = self.penalty if batch.step >= self.warmup else 1.0
            environment = batch.a if batch.environment is None else batch.environment
            members = [torch.nonzero(environment == value)[:, 0] for value in torch.unique(environment)]
        risk = torch.stack([cross_entropy(outputs.logits[rows], batch.y[rows]) for rows in members]).mean()
        squared = squared_derivative if self.estimate == "product" else square_of_derivative
        gaps = torch.stack([squared(outputs.logits[rows], batch.y[rows]) for rows in members]).mean()
        return risk + weight * gaps

    def resets_optimizer(self, step: int) -> bool:
        return self.variant == "environments" and step == self.warmup


def squared_derivative(logits: Tensor, y: Tensor) -> Tensor:
    """Estimate of (dR/ds)² at s = 1 from the even and odd rows; zero where an environment has a single row."""
    if len(y) < 2:
        return logits.sum() * 0
    return scale_derivative(logits[::2], y[::2]) * scale_derivative(logits[1::2], y[1::2])


def square_of_derivative(logits: Tensor, y: Tensor) -> Tensor:
    """(dR/ds)² at s = 1 over all rows: biased upwards by the variance of the derivative, but never negative."""
    return scale_derivative(logits, y) ** 2


def scale_derivative(logits: Tensor, y: Tensor) -> Tensor:
    """d/ds of the mean cross-entropy of s·logits at s = 1."""
    expected = (logits.softmax(1) * logits).sum(1)
    return (expected - logits.gather(1, y[:, None])[:, 0]).mean()
