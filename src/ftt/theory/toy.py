"""The paper's Figure 3: d = 2, m = 1, one start, two noise settings, and where retraining ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ftt.theory.flow import Flow, Start, flow
from ftt.theory.losses import retrain
from ftt.theory.mechanism import Array, Mechanism


@dataclass(frozen=True, eq=False)
class Toy:
    """One flow of Figure 3.

    Parameters
    ----------
    flow : Flow
        v(t) = (along β, along γ), shape (n, 2).
    v_test : array (2,)
        W(t) with the last layer retrained at test time.
    approximation, spurious : float
        The two parts of ℓ_te − err*_te: ½‖v₁ − β‖²_Σ and ½η_spu²‖v₂‖².
    """

    flow: Flow
    v_test: Array
    approximation: float
    spurious: float


def toy_mechanism(eta_core: float, eta_spu: float, variance: float = 2.0) -> Mechanism:
    """d1 = d2 = 1: the core feature is the first axis, the spurious feature the second."""
    return Mechanism([[variance]], [1.0], [1.0], eta_core, eta_spu)


def figure_3(
    low: float = 0.4, high: float = 1.0, variance: float = 2.0, t: float = 1e3, seed: int = 0
) -> list[tuple[str, Toy]]:
    """Two flows from one start, by name: the core less noisy than the spurious feature, then the other way round."""
    rng = np.random.default_rng(seed)
    # The start of Figure 3 lies near the origin, between the two features.
    start = Start(rng.uniform(0.15, 0.35, (2, 1)), rng.uniform(0.4, 0.6, 1), 0)
    settings = [(f"η_core {low:g} < η_spu {high:g}", low, high), (f"η_core {high:g} > η_spu {low:g}", high, low)]
    return [(name, toy_flow(toy_mechanism(core, spu, variance), start, t)) for name, core, spu in settings]


def toy_flow(mechanism: Mechanism, start: Start, t: float = 1e3, points: int = 200) -> Toy:
    """Follow the flow from `start` (W (2, 1), b (1,)) and retrain at the end."""
    times = np.concatenate([[0.0], np.geomspace(1e-3, t, points - 1)])
    run = flow(mechanism, 1, 0.0, times, start=start)
    W = run.W[-1]
    v = W @ retrain(mechanism, W)[1]
    approximation = float((v[0] - 1) ** 2 * mechanism.Sigma[0, 0]) / 2
    return Toy(run, v, approximation, float(mechanism.eta_spu**2 * v[1] ** 2) / 2)
