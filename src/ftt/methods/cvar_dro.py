"""CVaR-DRO: the mean loss of the worst α of every batch.

Duchi and Namkoong, *Learning models with uniform performance via distributionally robust optimization*, 2018; the
batch form of Levy et al., *Large-scale methods for distributionally robust optimization*, NeurIPS 2020. With the
losses of a batch sorted ℓ₁ ≥ … ≥ ℓ_B and k = ⌊αB⌋,

    CVaR_α = (ℓ₁ + … + ℓ_k + (αB − k)·ℓ_{k+1}) / (αB);

for αB < 1 that is the largest loss. When not to use: with noisy labels the worst rows are the mislabelled ones, and
it trains on those (the paper's main table: 15 points below ERM on Waterbirds from η_core = 6 % on).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn.functional import cross_entropy

from ftt.methods.method import Batch, Method, Outputs, State
from ftt.params import param


@dataclass(frozen=True)
class CVaRDRO(Method):
    """Mean of the α largest losses of a batch, the last one counted in part."""

    name: ClassVar[str] = "cvar-dro"
    whole_batch: ClassVar[bool] = True

    alpha: float = param(0.2, help="share of the batch with the largest losses", low=0, high=1, open_low=True)

    def loss(self, outputs: Outputs, batch: Batch, state: State) -> Tensor:
        return cvar(cross_entropy(outputs.logits, batch.y, reduction="none"), self.alpha)


def cvar(losses: Tensor, alpha: float) -> Tensor:
    """CVaR of (B,) losses at level α.

    Examples
    --------
    >>> import torch
    >>> cvar(torch.tensor([4.0, 1.0, 2.0, 3.0]), 0.5)
    tensor(3.5000)
    """
    mass = alpha * len(losses)
    whole = min(int(mass), len(losses))
    ordered = losses.sort(descending=True).values
    total = ordered[:whole].sum()
    if whole < len(losses) and mass > whole:
        total = total + (mass - whole) * ordered[whole]
    return total / mass
