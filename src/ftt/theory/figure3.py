"""The paper's Figure 3, computed: d = 2, m = 1, one start, two noise settings, and where retraining ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ftt.errors import FttError
from ftt.theory.bounds import single_feature_ratio, theorem_1
from ftt.theory.gradient_flow import Flow, Start, follow
from ftt.theory.limits import MAX_SEED, MAX_TIME, NOISE, need_number
from ftt.theory.losses import retrain
from ftt.theory.mechanism import Array, Mechanism


@dataclass(frozen=True, eq=False)
class PlaneFlow:
    """One flow of Figure 3.

    Parameters
    ----------
    name : str
        The noises in words.
    flow : Flow
        v(t) = (along β, along γ), shape (n, 2).
    v_test : array (2,)
        W(t) with the last layer retrained at test time.
    approximation, spurious : float
        The two parts of ℓ_te − err*_te: ½‖v₁ − β‖²_Σ and ½η_spu²‖v₂‖².
    """

    name: str
    flow: Flow
    v_test: Array
    approximation: float
    spurious: float

    @property
    def ratio(self) -> float:
        """ℓ_te/err*_te at the end."""
        return float(self.flow.ratio[-1])

    @property
    def closed_form(self) -> float:
        """The limit of `ratio` for t → ∞."""
        return single_feature_ratio(self.flow.mechanism)

    def to_json(self) -> dict[str, Any]:
        mechanism = self.flow.mechanism
        return {
            "setting": self.name,
            "eta_core": mechanism.eta_core,
            "eta_spu": mechanism.eta_spu,
            "v": self.flow.v[-1].tolist(),
            "v_test": self.v_test.tolist(),
            "ratio": self.ratio,
            "closed_form": self.closed_form,
            "theorem_1": theorem_1(mechanism, any_order=True) / mechanism.err_te,
            "approximation": self.approximation,
            "spurious": self.spurious,
        }


def plane_mechanism(eta_core: float, eta_spu: float, variance: float = 2.0) -> Mechanism:
    """d1 = d2 = 1: the core feature is the first axis, the spurious feature the second."""
    return Mechanism([[variance]], [1.0], [1.0], eta_core, eta_spu)


def figure_3(
    low: float = 0.4, high: float = 1.0, variance: float = 2.0, t: float = 1e3, seed: int = 0
) -> list[PlaneFlow]:
    """Two flows from one start: the core feature less noisy than the spurious one, then the reverse.

    Examples
    --------
    >>> [round(each.ratio, 3) for each in figure_3()]
    [1.158, 2.515]
    """
    if not (NOISE[0] <= low < high <= NOISE[1] and high**2 < variance < np.inf):
        raise FttError(
            "Figure 3 needs two different noises below the variance of the core feature",
            given=f"low {low:g}, high {high:g}, variance {variance:g}",
            allowed="0 < low < high, variance > high²",
        )
    if not 0 < t <= MAX_TIME:
        raise FttError("t must be a positive time", given=f"{t:g}", allowed=f"0 < t <= {MAX_TIME:g}")
    need_number("seed", seed, 0, MAX_SEED)
    rng = np.random.default_rng(seed)
    # The start of Figure 3 lies near the origin, between the two features.
    start = Start(rng.uniform(0.15, 0.35, (2, 1)), rng.uniform(0.4, 0.6, 1), 0)
    return [plane_flow(plane_mechanism(core, spu, variance), start, t) for core, spu in ((low, high), (high, low))]


def plane_flow(mechanism: Mechanism, start: Start, t: float = 1e3, points: int = 200) -> PlaneFlow:
    """Follow the flow from `start` (W (2, 1), b (1,)) and retrain at the end."""
    times = np.concatenate([[0.0], np.geomspace(min(1e-3, t / 10), t, points - 1)])
    run = follow(mechanism, start, times)
    W = run.W[-1]
    v = W @ retrain(mechanism, W)[1]
    core, spu = mechanism.eta_core, mechanism.eta_spu
    approximation = float((v[0] - 1) ** 2 * mechanism.Sigma[0, 0]) / 2
    name = f"core noise {core:g} {'<' if core < spu else '>'} spurious noise {spu:g}"
    return PlaneFlow(name, run, v, approximation, float(spu**2 * v[1] ** 2) / 2)
