"""Just Train Twice.

Liu et al., *Just train twice: improving group robustness without training group information*, ICML 2021. First a model
is trained for T epochs; the rows it gets wrong are the error set E. Then a fresh model is trained on all rows plus λ
copies of every row of E:

    loss = Σ_{i ∉ E} ℓ_i + (1 + λ) Σ_{i ∈ E} ℓ_i.

When not to use: with noisy labels E is mostly mislabelled rows, and the second model is trained to repeat them (the
paper's main table: JTT falls to 78.6 % on Waterbirds at η_core = 10 %).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn.functional import cross_entropy

from ftt.methods.method import Batch, Method, Outputs, Stage, State
from ftt.params import param


@dataclass(frozen=True)
class JTT(Method):
    """Train, find the errors, train again with the errors up-weighted."""

    name: ClassVar[str] = "jtt"

    identify_epochs: int = param(1, help="epochs T of the first model", low=1)
    upweight: int = param(20, help="extra copies λ of each row that the first model gets wrong", low=1)

    def loss(self, outputs: Outputs, batch: Batch, state: State) -> Tensor:
        return cross_entropy(outputs.logits, batch.y)

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        return Stage(self.identify_epochs, followed=True), Stage(epochs, copies_of_errors=self.upweight)
