"""The gradient flow against scipy's DOP853 at equal error, and the sizes the theory lab must bear.

python benchmarks/theory_flow.py [--quick]
"""

from __future__ import annotations

import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

from ftt.theory import Mechanism, Start, flow, follow, xavier_start
from ftt.theory.blas import single_thread
from ftt.theory.mechanism import Array
from ftt.theory.phases import Network, phase_diagram

ERROR = 1e-6
OURS_TOLERANCE = 1e-6
THEIRS_TOLERANCE = 1e-7
"""The loosest powers of ten at which each arm stays below `ERROR`."""


def rows(quick: bool) -> list[dict[str, object]]:
    """The table: flow against DOP853, phase diagram against a minute, large flow against a gigabyte."""
    return [_flow_row(quick), _phase_row(quick), _large_row(quick)]


def _mechanism() -> Mechanism:
    return Mechanism.random(np.random.default_rng(0), d1=50, d2=50, k=5, eta_core=1.0, eta_spu=0.5)


def _dop853(mechanism: Mechanism, start: Start, t: float, tolerance: float) -> Array:
    """W(t) by scipy. It gets the eigenbasis too: a diagonal H is the cheapest field there is."""
    D, Xi = mechanism.spectrum
    e, (d, m) = Xi.T @ mechanism.xy, start.W.shape

    def field(_: float, state: Array) -> Array:
        W, b = state[: d * m].reshape(d, m), state[d * m :]
        r = e - D * (W @ b)
        out = np.empty(d * m + m)  # a new one every time: scipy keeps the last for the next step
        np.multiply.outer(r, b, out=out[: d * m].reshape(d, m))
        np.matmul(W.T, r, out=out[d * m :])
        return out

    y0 = np.concatenate([(Xi.T @ start.W).ravel(), start.b])
    end = solve_ivp(field, (0, t), y0, method="DOP853", rtol=tolerance, atol=tolerance, t_eval=[t]).y[:, -1]
    return np.asarray(Xi @ end[: d * m].reshape(d, m))


def _timed(work: Callable[[], Array], repeats: int) -> tuple[float, Array]:
    """Median CPU seconds, and the result."""
    seconds = []
    for _ in range(repeats):
        before = time.process_time()
        result = work()
        seconds.append(time.process_time() - before)
    return statistics.median(seconds), result


def _flow_row(quick: bool) -> dict[str, object]:
    t, repeats = 1e4, 1 if quick else 3
    mechanism = _mechanism()
    start = xavier_start(mechanism, 20, 0.0, np.random.default_rng(0))

    def ours(tolerance: float = OURS_TOLERANCE) -> Array:
        fresh = _mechanism()  # its eigendecomposition is part of our price
        return np.asarray(follow(fresh, start, t, tolerance=tolerance).W[-1])

    with single_thread():
        exact = ours(1e-11) if quick else _dop853(mechanism, start, t, 1e-12)
        fast, mine = _timed(ours, 15)  # it is short: one interruption must not decide
        slow, theirs = _timed(lambda: _dop853(mechanism, start, t, THEIRS_TOLERANCE), repeats)
    errors = [float(np.max(np.abs(W - exact))) for W in (mine, theirs)]
    if max(errors) > ERROR:
        raise RuntimeError(f"an arm misses the error {ERROR:g}: {errors}")
    return {
        "stage": f"gradient flow, d = 100, m = 20, to t = {t:g}",
        "baseline": f"scipy DOP853, {slow:.2f} s CPU (ours {1e3 * fast:.1f} ms)",
        "ratio": slow / fast,
        "floor": 100.0,
        "target": 245.0,
        "quality": f"largest error in W {errors[0]:.1e}, DOP853 {errors[1]:.1e} "
        f"(against {'ours at 1e-11' if quick else 'DOP853 at 1e-12'})",
    }


def _phase_row(quick: bool) -> dict[str, object]:
    size = 5 if quick else 25
    mechanism = Mechanism.random(np.random.default_rng([0, 0]), d1=30, d2=20, k=3, eta_core=1.5, eta_spu=1.5)
    grid = np.geomspace(0.15, 1.5, size)
    before = time.process_time()
    found = phase_diagram(mechanism, grid, grid, Network(10, 0.4))
    seconds = (time.process_time() - before) * (25 / size) ** 2
    return {
        "stage": "phase diagram 25×25, four methods, d = 50, m = 10, t = 1e4",
        "baseline": f"a minute of 2 cores (took {seconds:.1f} s CPU{', scaled up' if quick else ''})",
        "ratio": 120 / seconds,
        "floor": 1.0,
        "target": 4.0,
        "quality": f"FTT within 1 % of the optimum in {int((found.ftt < 1.01).sum())} of {found.ftt.size} cells",
    }


def _large_row(quick: bool) -> dict[str, object]:
    half, m = (250, 25) if quick else (500, 50)
    before = time.process_time()
    tracemalloc.start()
    with single_thread():
        mechanism = Mechanism.random(np.random.default_rng(0), d1=half, d2=half, k=10, eta_core=1.0, eta_spu=0.5)
        run = flow(mechanism, m, 0.0, [1e4], rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    seconds = time.process_time() - before
    return {
        "stage": f"gradient flow, d = {2 * half}, m = {m}, to t = 1e4: memory",
        "baseline": f"1 GB (peak {peak / 1e6:.0f} MB, {seconds:.2f} s CPU with the eigendecomposition)",
        "ratio": 1e9 / peak,
        "floor": 1.0,
        "target": 5.0,
        "quality": f"drift of the invariant {run.drift[-1]:.1e}, {run.steps} steps",
    }


if __name__ == "__main__":
    for row in rows("--quick" in sys.argv[1:]):
        print(f"{row['stage']}\n  {row['ratio']:.1f}x over {row['baseline']}")
        print(f"  floor {row['floor']}, target {row['target']}; {row['quality']}")
