"""The last layer as a method trained it, in the place of a probe: what a network does without any target data."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import softmax

from ftt.arrays import Float32Array, FloatArray, IntArray
from ftt.errors import FttError
from ftt.spec import Probing
from ftt.train import FreezeThenTrain

NOT_RETRAINED = "the last layer is the one that was trained; nothing was retrained on the target split"


@dataclass(frozen=True)
class OwnHead:
    """A linear layer (K, m) with the attributes of a fitted probe; nothing was chosen, so that C is 0."""

    weight: FloatArray
    bias: FloatArray
    C_: float = 0.0
    at_edge_: bool = False
    converged_: bool = True
    worst_by_C_: dict[float, float] = field(default_factory=dict)  # noqa: N815

    @classmethod
    def of(cls, model: FreezeThenTrain, probing: Probing) -> OwnHead:
        """The head of the network that a recipe trains."""
        recipe, network = model.recipe, model.network
        if network is None or recipe.sources or (recipe.freeze is not None and recipe.join == "late"):
            raise FttError(
                "the features of this recipe have no trained last layer",
                given=recipe.name,
                allowed="a method alone, or a frozen part joined to it while training (join joint)",
                hint="leave out --last-layer",
            )
        if probing.dims is not None or probing.depth != "projected" or probing.scale or probing.seeds > 1:
            raise FttError(
                "a trained last layer takes the features as they are",
                given=f"dims {probing.dims}, depth {probing.depth}, scale {probing.scale}, seeds {probing.seeds}",
                allowed="no --dims, depth projected, no --scale, one probe seed",
            )
        weight, bias = (value.detach().cpu().numpy().astype(np.float64) for value in network.head.parameters())
        return cls(weight, bias)

    def predict(self, features: Float32Array) -> IntArray:
        """(n,) class codes of features (n, m)."""
        codes: IntArray = (features @ self.weight.T + self.bias).argmax(axis=1)
        return codes

    def predict_proba(self, features: Float32Array) -> FloatArray:
        """(n, K) probabilities of features (n, m)."""
        shares: FloatArray = softmax(features @ self.weight.T + self.bias, axis=1)
        return shares
