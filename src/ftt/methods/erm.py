"""Empirical risk minimisation.

Vapnik, *The Nature of Statistical Learning Theory*, 1995. Minimises the mean cross-entropy

    (1/B) Σ_i −log softmax(logits_i)[y_i],

or its mean over the labels that a teacher gives probabilities, where it does.

When not to use: whenever the spurious feature is cleaner than the core one (η_spu < η_core), it learns the shortcut
and loses the core features; that is the paper's Theorem 2, and why `freeze` exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn.functional import cross_entropy

from ftt.methods.method import Batch, Method, Outputs, State


@dataclass(frozen=True)
class ERM(Method):
    """Mean cross-entropy."""

    name: ClassVar[str] = "erm"
    soft_labels: ClassVar[bool] = True

    def loss(self, outputs: Outputs, batch: Batch, state: State) -> Tensor:
        return cross_entropy(outputs.logits, batch.y if batch.soft is None else batch.soft)
