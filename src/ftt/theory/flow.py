"""The population gradient flow of Section 3.1 (ERM) and Section 4.2 (FTT), with what the statements speak about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ftt.errors import FttError
from ftt.theory.losses import retrain
from ftt.theory.mechanism import Array, Mechanism
from ftt.theory.pools import single_thread
from ftt.theory.rosenbrock import integrate

DRIFT_FACTOR = 1e4
"""The invariant may drift by this many tolerances (relative to its size) before a flow is refused."""


@dataclass(frozen=True, eq=False)
class Start:
    """Parameters at t = 0: W (d, m), whose first `frozen` columns are W_ul, and b (m,)."""

    W: Array
    b: Array
    frozen: int


@dataclass(frozen=True, eq=False)
class Flow:
    """A flow at n recorded times.

    Parameters
    ----------
    mechanism : Mechanism
    start : Start
        The parameters at t = 0.
    t : array (n,)
    W : array (n, d, m)
        Features; the first `start.frozen` columns are W_ul and do not change.
    b : array (n, m)
    c_0 : float
        The smallest ‖W_sl b_sl‖ over all steps, the constant the theorems assume positive (‖v‖ for ERM).
    steps, rejected : int
        Work of the integrator.
    """

    mechanism: Mechanism
    start: Start
    t: Array
    W: Array
    b: Array
    c_0: float
    steps: int
    rejected: int

    @cached_property
    def v(self) -> Array:
        """v(t) = W(t) b(t), shape (n, d)."""
        return np.asarray(np.einsum("tdm,tm->td", self.W, self.b))

    @cached_property
    def gap_tr(self) -> Array:
        """ℓ_tr(t) − err*_tr, shape (n,)."""
        delta = self.v - self.mechanism.v_tr
        return np.asarray(np.einsum("td,td->t", delta @ self.mechanism.H, delta)) / 2

    @property
    def l_tr(self) -> Array:
        """ℓ_tr(t), shape (n,)."""
        return self.mechanism.err_tr + self.gap_tr

    @cached_property
    def gap_te(self) -> Array:
        """ℓ_te(W(t)) − err*_te after exact retraining of b, shape (n,)."""
        with single_thread():
            return np.array([retrain(self.mechanism, W)[0] for W in self.W])

    @property
    def l_te(self) -> Array:
        """ℓ_te(W(t)), shape (n,)."""
        return self.mechanism.err_te + self.gap_te

    @property
    def ratio(self) -> Array:
        """ℓ_te(W(t)) / err*_te, shape (n,)."""
        return 1 + self.gap_te / self.mechanism.err_te

    @property
    def c(self) -> Array:
        """c_t = γᵀW₂(t)b(t), shape (n,)."""
        return np.asarray(self.v[:, self.mechanism.d1 :] @ self.mechanism.gamma)

    @cached_property
    def drift(self) -> Array:
        """Largest entry of M(t) − M(0), M = W_slᵀW_sl − b_sl b_slᵀ, which the exact flow keeps at zero, shape (n,)."""
        M0 = invariant(self.start.W, self.start.b, self.start.frozen)
        drifts = [invariant(W, b, self.start.frozen) - M0 for W, b in zip(self.W, self.b, strict=True)]
        return np.array([np.abs(each).max(initial=0.0) for each in drifts])


def invariant(W: Array, b: Array, frozen: int = 0) -> Array:
    """M = W_slᵀW_sl − b_sl b_slᵀ over the trained columns, constant along the flow (proof of Theorem 2)."""
    W_sl, b_sl = W[:, frozen:], b[frozen:]
    return np.asarray(W_sl.T @ W_sl - np.outer(b_sl, b_sl))


def xavier(rng: np.random.Generator, fan_in: int, fan_out: int) -> Array:
    """Xavier-uniform matrix (fan_in, fan_out): U(−a, a) with a = √(6 / (fan_in + fan_out))."""
    limit = np.sqrt(6 / (fan_in + fan_out))
    return rng.uniform(-limit, limit, (fan_in, fan_out))


def frozen_count(m: int, p: float) -> int:
    """p·m as a whole number of frozen features."""
    count = round(p * m)
    if m < 1 or not 0 <= p <= 1 or abs(count - p * m) > 1e-6:
        raise FttError(
            "p·m is not a number of features",
            given=f"p = {p:g}, m = {m}, p·m = {p * m:g}",
            allowed="m >= 1, 0 <= p <= 1, p·m whole",
            hint=f"p = {min(max(count, 0), m)}/{m}" if m >= 1 else None,
        )
    return count


def xavier_start(mechanism: Mechanism, m: int, p: float, rng: np.random.Generator) -> Start:
    """W_ul = the top p·m principal components of x in training, W_sl and b Xavier-uniform.

    p = 0 is ERM, p = 1 is PCA alone.
    """
    frozen = frozen_count(m, p)
    if frozen > mechanism.d:
        raise FttError("there are not so many principal components", given=frozen, allowed=f"p·m <= {mechanism.d}")
    W_ul = mechanism.spectrum[1][:, :frozen]
    W_sl = xavier(rng, mechanism.d, m - frozen)
    return Start(np.concatenate([W_ul, W_sl], axis=1), xavier(rng, m, 1)[:, 0], frozen)


def flow(
    mechanism: Mechanism,
    m: int,
    p: float = 0.0,
    t: float | Sequence[float] | Array = 1e4,
    *,
    rng: np.random.Generator | int = 0,
    start: Start | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-8,
    max_steps: int = 20_000,
) -> Flow:
    """Follow the population gradient flow of (W, b) (ERM, p = 0) or of (W_sl, b) with W_ul frozen (FTT).

    Parameters
    ----------
    mechanism : Mechanism
    m : int
        Number of features.
    p : float
        Fraction of frozen principal components; p·m must be whole.
    t : float or increasing sequence of float
        Times to record; 0 may be the first.
    rng : numpy Generator or int
        For the Xavier-uniform start.
    start : Start, optional
        Used instead of a random start (then `m` and `p` must agree with it).
    rtol, atol : float
        Tolerances of the integrator; the error in W comes out at a few times their size.
    max_steps : int
        Work after which the integrator gives up.

    Raises
    ------
    FttError
        Where the tolerance cannot be met, which is also judged by the invariant M at the end.

    Examples
    --------
    >>> mechanism = Mechanism([[2.0]], [1.0], [1.0], eta_core=0.5, eta_spu=1.0)
    >>> end = flow(mechanism, m=1, t=[1.0, 100.0], rng=1)
    >>> np.round(end.v[-1], 6)
    array([0.8, 0.2])
    """
    times = np.atleast_1d(np.asarray(t, dtype=np.float64))
    if times.ndim != 1 or times.size == 0 or times[0] < 0 or np.any(np.diff(times) <= 0):
        raise FttError("t is not an increasing sequence of times", given=t, allowed="0 <= t_1 < t_2 < …")
    if start is None:
        start = xavier_start(mechanism, m, p, np.random.default_rng(rng))
    elif start.W.shape != (mechanism.d, m) or start.b.shape != (m,) or start.frozen != frozen_count(m, p):
        raise FttError(
            "the start does not fit",
            given=f"W {start.W.shape}, b {start.b.shape}, {start.frozen} frozen",
            allowed=f"W ({mechanism.d}, {m}), b ({m},), {frozen_count(m, p)} frozen",
        )
    with single_thread():
        return _follow(mechanism, start, times, rtol, atol, max_steps)


def _follow(mechanism: Mechanism, start: Start, times: Array, rtol: float, atol: float, max_steps: int) -> Flow:
    D, Xi = mechanism.spectrum
    f = start.frozen
    V, b = Xi.T @ start.W, start.b
    W_out = np.empty((times.size, *start.W.shape))
    b_out = np.empty((times.size, start.b.size))
    c_0 = float(np.linalg.norm(V[:, f:] @ b[f:]))
    done, steps, rejected = 0, 0, 0
    if times[0] == 0:
        W_out[0], b_out[0], done = start.W, start.b, 1
    e, stops = Xi.T @ mechanism.xy, times[done:].tolist()
    for state in integrate(D, e, V, b, f, stops, rtol=rtol, atol=atol, max_steps=max_steps):
        c_0 = min(c_0, float(np.linalg.norm(state.V[:, f:] @ state.b[f:])))
        steps, rejected = state.accepted, state.rejected
        if state.t == times[done]:
            W_out[done], b_out[done] = Xi @ state.V, state.b
            W_out[done, :, :f] = start.W[:, :f]
            done += 1
    result = Flow(mechanism, start, times, W_out, b_out, c_0, steps, rejected)
    _refuse_drift(result, rtol, atol)
    return result


def _refuse_drift(result: Flow, rtol: float, atol: float) -> None:
    size = np.abs(invariant(result.W[-1], result.b[-1], result.start.frozen)).max(initial=0.0)
    allowed = DRIFT_FACTOR * (atol + rtol * (size + float(result.b[-1] @ result.b[-1])))
    drift = float(result.drift[-1])
    if not drift <= allowed:
        raise FttError(
            "the flow lost its invariant WᵀW − bbᵀ: the numbers cannot be trusted",
            given=f"drift {drift:.3g}, condition number of Σ "
            f"{result.mechanism.eigenvalues[0] / result.mechanism.eigenvalues[-1]:.3g}",
            allowed=f"drift <= {allowed:.3g}",
            hint="tighten rtol and atol",
        )
