"""GroupDRO: the groups with the largest losses weigh most.

Sagawa et al., *Distributionally robust neural networks for group shifts*, ICLR 2020, in DomainBed's form: before each
loss the weights of the groups in the batch grow exponentially with their mean loss,

    q_g ← q_g · exp(η ℓ_g) / Σ_h q_h · exp(η ℓ_h),        loss = Σ_g q_g ℓ_g.

A group that is absent from a batch keeps its weight and adds nothing. When not to use: when groups are made from noisy
labels (`groups="label-attribute"` under core noise), the smallest group may be nothing but mislabelled rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ftt.methods.method import Batch, Method, Outputs, State, Task
from ftt.params import param


@dataclass(frozen=True)
class GroupDRO(Method):
    """Exponentiated-gradient weights over groups, updated before the loss."""

    name: ClassVar[str] = "group-dro"
    whole_batch: ClassVar[bool] = True

    eta: float = param(0.01, help="step size of the group weights", low=0)
    groups: str = param(
        "attribute",
        help="definition of groups: the attribute (domains), or label and attribute together",
        choices=("attribute", "label-attribute"),
    )

    def start(self, task: Task) -> State:
        # A held-out domain has no training rows: it would keep a share of the weight for ever.
        rows = torch.ones(task.n_classes, task.n_attributes) if task.rows is None else torch.tensor(task.rows)
        present = (rows.flatten() if self.groups == "label-attribute" else rows.sum(0)) > 0
        return {"q": present.float() / present.sum()}

    def loss(self, outputs: Outputs, batch: Batch, state: State) -> Tensor:
        losses = cross_entropy(outputs.logits, batch.y, reduction="none")
        q = state["q"].to(losses.device)
        n_attributes = len(q) // (outputs.logits.shape[1] if self.groups == "label-attribute" else 1)
        group = batch.a if self.groups == "attribute" else batch.y * n_attributes + batch.a
        count = torch.zeros_like(q).index_add_(0, group, torch.ones_like(losses))
        mean = torch.zeros_like(q).index_add(0, group, losses) / count.clamp(min=1)
        q = q * torch.exp(self.eta * mean.detach())
        state["q"] = q / q.sum()
        return (state["q"] * mean).sum()
