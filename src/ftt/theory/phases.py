"""Test error over the two noises for ERM, PCA, FTT and late joining, and over the number of frozen components."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ftt.errors import FttError
from ftt.progress import track
from ftt.theory.blas import single_thread
from ftt.theory.gradient_flow import flow, frozen_count, xavier_start
from ftt.theory.joining import join
from ftt.theory.limits import MAX_SEED, MAX_TIME, NOISE, need_count, need_number
from ftt.theory.losses import retrain
from ftt.theory.mechanism import Array, Mechanism
from ftt.theory.span import excluded_eta_core

TOLERANCE = 1e-5
"""Of the integrator: ratios are accurate to about four digits, more than a colour can show."""

MAX_CELLS = 100_000
"""Most flows of one diagram; a flow takes about 10 ms at the default sizes."""

METHODS = ("erm", "pca", "ftt", "late")


@dataclass(frozen=True)
class Network:
    """A network of m features, a fraction p of them frozen, trained until time t from the start of `seed`."""

    m: int
    p: float = 0.0
    t: float = 1e4
    seed: int = 0

    def __post_init__(self) -> None:
        frozen_count(self.m, self.p)
        if not 0 < self.t <= MAX_TIME:
            raise FttError("t is out of range", given=f"{self.t:g}", allowed=f"0 < t <= {MAX_TIME:g}")
        need_number("seed", self.seed, 0, MAX_SEED)

    @property
    def frozen(self) -> int:
        """p·m."""
        return frozen_count(self.m, self.p)


Cell = tuple[Mechanism, Network]


@dataclass(frozen=True, eq=False)
class PhaseDiagram:
    """Ratios ℓ_te/err*_te over the noises.

    Parameters
    ----------
    network : Network
    eta_core, eta_spu : arrays (n,), (l,)
    erm, pca, ftt, late : arrays (n, l)
        Ratios, rows along η_core.
    excluded : array (l,)
        The η_core that Theorem 3 excludes, for each η_spu.
    """

    network: Network
    eta_core: Array
    eta_spu: Array
    erm: Array
    pca: Array
    ftt: Array
    late: Array
    excluded: Array

    def to_json(self) -> dict[str, Any]:
        names = ("eta_core", "eta_spu", *METHODS)
        return {**{name: getattr(self, name).tolist() for name in names}, "excluded_eta_core": self.excluded.tolist()}


@dataclass(frozen=True, eq=False)
class Sweep:
    """FTT over the number of frozen components.

    Parameters
    ----------
    network : Network
    k : int
        Number of components that Theorem 3 needs.
    noises : list of (η_core, η_spu)
    ratios : array (len(noises), m + 1, seeds)
        ℓ_te/err*_te for p·m = 0 (ERM) to m (PCA).
    """

    network: Network
    k: int
    noises: list[tuple[float, float]]
    ratios: Array

    def to_json(self) -> list[dict[str, Any]]:
        return [
            {"eta_core": core, "eta_spu": spu, "ratio": over.tolist()}
            for (core, spu), over in zip(self.noises, self.ratios, strict=True)
        ]


def noise_grid(low: float, high: float, size: int) -> Array:
    """`size` noises from `low` to `high` in a geometric sequence, shape (size,)."""
    if not NOISE[0] <= low < high <= NOISE[1]:
        raise FttError("the noises must be a range", given=f"low {low:g}, high {high:g}", allowed="0 < low < high")
    need_count("size", size, math.isqrt(MAX_CELLS), "size² cells with three flows each")
    return np.geomspace(low, high, size)


def sweep_noises(mechanism: Mechanism, low: float, high: float) -> list[tuple[float, float]]:
    """Four instructive pairs (η_core, η_spu) between `low` and `high`; the last one is excluded by Theorem 3."""
    middle = float(np.sqrt(low * high))
    excluded = excluded_eta_core(mechanism.with_noise(eta_spu=middle))
    return [(high, middle), (1.5 * middle, middle), (middle, high), (excluded, middle)]


def phase_diagram(
    mechanism: Mechanism,
    eta_core: Sequence[float] | Array,
    eta_spu: Sequence[float] | Array,
    network: Network,
    *,
    jobs: int = 1,
) -> PhaseDiagram:
    """Compute the diagram; Σ, β and γ are those of `mechanism`, and every cell has the same random start.

    PCA is the case p = 1: the m leading principal components and no training. Late joining has the p·m leading
    components beside (1 − p)m features trained alone.
    """
    core, spu = np.asarray(eta_core, dtype=np.float64), np.asarray(eta_spu, dtype=np.float64)
    if core.ndim != 1 or spu.ndim != 1 or not core.size or not spu.size:
        raise FttError("the noises must be two lists", given=f"{core.shape}, {spu.shape}", allowed="(n,), (l,)")
    need_count("number of cells", core.size * spu.size, MAX_CELLS, "three flows per cell")
    top = float(max(core.max(), spu.max()) ** 2)
    if not mechanism.eigenvalues[mechanism.k - 1] > top:
        raise FttError(
            "the noises must stay below λ_k",
            given=f"λ_k = {mechanism.eigenvalues[mechanism.k - 1]:.4g}, largest η² = {top:.4g}",
            allowed="λ_k > η_core², η_spu² in every cell",
        )
    cells = [(mechanism.with_noise(eta_core=a, eta_spu=b), network) for a in core for b in spu]
    ratios = _map(_cell, cells, "phase diagram", jobs).reshape(core.size, spu.size, len(METHODS))
    excluded = np.array([excluded_eta_core(mechanism.with_noise(eta_spu=b)) for b in spu])
    erm, pca, ftt, late = np.moveaxis(ratios, -1, 0)
    return PhaseDiagram(network, core, spu, erm, pca, ftt, late, excluded)


def sweep_p(
    mechanism: Mechanism, noises: Sequence[tuple[float, float]], network: Network, *, seeds: int = 3, jobs: int = 1
) -> Sweep:
    """FTT for every p·m = 0 … m, at the given pairs (η_core, η_spu) and from `seeds` starts each."""
    m, t = network.m, network.t
    need_count("number of flows", len(noises) * (m + 1) * seeds, MAX_CELLS, "one flow per noise, p and seed")
    cells = [
        (mechanism.with_noise(eta_core=core, eta_spu=spu), Network(m, frozen / m, t, seed))
        for core, spu in noises
        for frozen in range(m + 1)
        for seed in range(seeds)
    ]
    ratios = _map(_trained, cells, "sweep over p", jobs).reshape(len(noises), m + 1, seeds)
    return Sweep(network, mechanism.k, list(noises), ratios)


def _map(work: Any, cells: Sequence[Cell], label: str, jobs: int) -> Array:
    from joblib import Parallel, delayed

    # Blocks, not cells, go to the workers: a cell takes milliseconds, about what sending it costs.
    size = 1 if jobs == 1 else 16
    blocks = [cells[i : i + size] for i in range(0, len(cells), size)]
    results = Parallel(n_jobs=jobs, return_as="generator")(delayed(_block)(work, block) for block in blocks)
    return np.concatenate(list(track(results, label, len(blocks))))


def _block(work: Any, cells: Sequence[Cell]) -> Array:
    with single_thread():
        return np.array([work(cell) for cell in cells])


def _cell(cell: Cell) -> list[float]:
    mechanism, network = cell
    return [
        _trained((mechanism, Network(network.m, 0.0, network.t, network.seed))),
        _ratio(mechanism, mechanism.components(network.m)),
        _trained(cell),
        _late(cell),
    ]


def _trained(cell: Cell) -> float:
    mechanism, network = cell
    if network.frozen == network.m:
        return _ratio(mechanism, xavier_start(mechanism, network.m, network.p, network.seed).W)
    return _ratio(mechanism, _end(mechanism, network.m, network.p, network))


def _late(cell: Cell) -> float:
    mechanism, network = cell
    top = mechanism.components(network.frozen)
    if network.frozen == network.m:
        return _ratio(mechanism, top)
    return _ratio(mechanism, join(top, _end(mechanism, network.m - network.frozen, 0.0, network)))


def _end(mechanism: Mechanism, m: int, p: float, network: Network) -> Array:
    run = flow(mechanism, m, p, network.t, rng=network.seed, tolerance=TOLERANCE)
    return np.asarray(run.W[-1])


def _ratio(mechanism: Mechanism, W: Array) -> float:
    return 1 + retrain(mechanism, W)[0] / mechanism.err_te
