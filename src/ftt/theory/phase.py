"""Phase diagrams: ℓ_te/err*_te over the two noises for ERM, PCA and FTT, and over the number of frozen features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftt.errors import FttError
from ftt.progress import track
from ftt.theory.flow import flow, frozen_count, xavier_start
from ftt.theory.losses import retrain
from ftt.theory.mechanism import Array, Mechanism
from ftt.theory.pools import single_thread
from ftt.theory.span import excluded_eta_core

TOLERANCE = 1e-5
"""Of the integrator: the ratios come out to about four digits, more than a colour shows."""


@dataclass(frozen=True, eq=False)
class Phase:
    """Ratios over the noises.

    Parameters
    ----------
    eta_core, eta_spu : arrays (n,), (l,)
    erm, pca, ftt : arrays (n, l)
        ℓ_te/err*_te, rows along η_core.
    excluded : array (l,)
        The η_core Theorem 3 excludes, for each η_spu.
    """

    eta_core: Array
    eta_spu: Array
    erm: Array
    pca: Array
    ftt: Array
    excluded: Array


def phase(
    mechanism: Mechanism,
    m: int,
    p: float,
    eta_core: Sequence[float] | Array,
    eta_spu: Sequence[float] | Array,
    *,
    t: float = 1e4,
    seed: int = 0,
    jobs: int = 1,
) -> Phase:
    """Compute the diagram; Σ, β and γ are those of `mechanism`, the start is the same in every cell.

    PCA is the p = 1 end of the method: the m leading principal components and no training.
    """
    core, spu = np.asarray(eta_core, dtype=np.float64), np.asarray(eta_spu, dtype=np.float64)
    if core.ndim != 1 or spu.ndim != 1 or not core.size or not spu.size:
        raise FttError("the noises are not two lists", given=f"{core.shape}, {spu.shape}", allowed="(n,), (l,)")
    top = float(max(core.max(), spu.max()) ** 2)
    if mechanism.eigenvalues[mechanism.k - 1] <= top:
        raise FttError(
            "the noises reach above λ_k",
            given=f"λ_k = {mechanism.eigenvalues[mechanism.k - 1]:.4g}, largest η² = {top:.4g}",
            allowed="λ_k > η_core², η_spu² in every cell",
        )
    cells = [(mechanism.with_noise(eta_core=a, eta_spu=b), m, p, t, seed) for a in core for b in spu]
    ratios = _map(cells, "phase diagram", jobs).reshape(core.size, spu.size, 3)
    excluded = np.array([excluded_eta_core(mechanism.with_noise(eta_spu=b)) for b in spu])
    return Phase(core, spu, ratios[..., 0], ratios[..., 1], ratios[..., 2], excluded)


def sweep_p(
    mechanism: Mechanism,
    m: int,
    noises: Sequence[tuple[float, float]],
    *,
    t: float = 1e4,
    seeds: int = 3,
    jobs: int = 1,
) -> Array:
    """ℓ_te/err*_te of FTT for every p·m = 0 … m, shape (len(noises), m + 1, seeds); p·m = 0 is ERM, m is PCA."""
    cells = [
        (mechanism.with_noise(eta_core=core, eta_spu=spu), m, frozen / m, t, seed)
        for core, spu in noises
        for frozen in range(m + 1)
        for seed in range(seeds)
    ]
    return _map(cells, "sweep over p", jobs, only_ftt=True).reshape(len(noises), m + 1, seeds)


Cell = tuple[Mechanism, int, float, float, int]


def _map(cells: Sequence[Cell], label: str, jobs: int, *, only_ftt: bool = False) -> Array:
    from joblib import Parallel, delayed

    # Blocks, not cells, go to the workers: a cell takes milliseconds, about what sending it costs.
    size = 1 if jobs == 1 else 16
    blocks = [cells[i : i + size] for i in range(0, len(cells), size)]
    results = Parallel(n_jobs=jobs, return_as="generator")(delayed(_block)(block, only_ftt) for block in blocks)
    return np.concatenate(list(track(results, label, len(blocks))))


def _block(cells: Sequence[Cell], only_ftt: bool) -> Array:
    with single_thread():
        return np.array([[_trained(cell)] if only_ftt else _cell(cell) for cell in cells])


def _cell(cell: Cell) -> list[float]:
    mechanism, m, p, t, seed = cell
    components = mechanism.spectrum[1][:, : frozen_count(m, 1.0)]
    pca = 1 + retrain(mechanism, components)[0] / mechanism.err_te
    return [_trained((mechanism, m, 0.0, t, seed)), pca, _trained((mechanism, m, p, t, seed))]


def _trained(cell: Cell) -> float:
    mechanism, m, p, t, seed = cell
    start = xavier_start(mechanism, m, p, np.random.default_rng(seed))
    trained = start.frozen < m
    run = flow(mechanism, m, p, t, start=start, rtol=TOLERANCE, atol=TOLERANCE) if trained else None
    return 1 + retrain(mechanism, start.W if run is None else run.W[-1])[0] / mechanism.err_te
