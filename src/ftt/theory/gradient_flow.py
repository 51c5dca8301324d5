"""The population gradient flow of Section 3.1 (ERM) and Section 4.2 (FTT), and the quantities that are bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ftt.errors import FttError
from ftt.theory.blas import single_thread
from ftt.theory.limits import MAX_TIME, need_dimension, need_memory, need_number
from ftt.theory.losses import retrain
from ftt.theory.mechanism import Array, Mechanism
from ftt.theory.rosenbrock import Field, State, integrate

Times = float | Sequence[float] | Array

DRIFT_FACTOR = 1e4
"""Drift of the invariant, in tolerances, above which a flow is rejected."""

LARGEST_START = 1e6
"""Largest entry of a start or a teacher; the flow moves at the square of it."""


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
    teacher : array (d,) or None
        Coefficients of the teacher whose predictions were the labels; None if the labels were y.
    """

    mechanism: Mechanism
    start: Start
    t: Array
    W: Array
    b: Array
    c_0: float
    steps: int
    rejected: int
    teacher: Array | None = None

    @property
    def optimum(self) -> Array:
        """The limit of v(t): v*_tr, or the teacher, shape (d,)."""
        return self.mechanism.v_tr if self.teacher is None else self.teacher

    @cached_property
    def v(self) -> Array:
        """v(t) = W(t) b(t), shape (n, d)."""
        return np.asarray(np.einsum("tdm,tm->td", self.W, self.b))

    @cached_property
    def gap_tr(self) -> Array:
        """Training error minus its minimum (err*_tr; 0 with a teacher), shape (n,)."""
        delta = self.v - self.optimum
        return np.asarray(np.einsum("td,td->t", delta @ self.mechanism.H, delta)) / 2

    @property
    def l_tr(self) -> Array:
        """ℓ_tr(t), shape (n,)."""
        return self.gap_tr + (self.mechanism.err_tr if self.teacher is None else 0.0)

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
    """p·m, which must be a whole number of frozen features."""
    count = round(p * m) if 0 <= p <= 1 else 0
    if m < 1 or not 0 <= p <= 1 or abs(count - p * m) > 1e-6:
        raise FttError(
            "p·m is not a whole number of features",
            given=f"p = {p:g}, m = {m}",
            allowed="m >= 1, 0 <= p <= 1, p·m whole",
            hint=f"try p = {count}/{m}" if m >= 1 else None,
        )
    return count


def xavier_start(mechanism: Mechanism, m: int, p: float = 0.0, rng: np.random.Generator | int = 0) -> Start:
    """W_ul = the top p·m principal components of x in training, W_sl and b Xavier-uniform.

    p = 0 is ERM, p = 1 is PCA alone.
    """
    need_dimension(mechanism.d, m)
    frozen = frozen_count(m, p)
    if frozen > mechanism.d:
        raise FttError("more principal components than dimensions", given=frozen, allowed=f"p·m <= {mechanism.d}")
    rng = np.random.default_rng(rng)
    W_sl = xavier(rng, mechanism.d, m - frozen)
    W = np.concatenate([mechanism.components(frozen), W_sl], axis=1)
    return Start(W, xavier(rng, m, 1)[:, 0], frozen)


def flow(
    mechanism: Mechanism,
    m: int,
    p: float = 0.0,
    t: Times = 1e4,
    *,
    rng: np.random.Generator | int = 0,
    tolerance: float = 1e-8,
) -> Flow:
    """Population gradient flow of (W, b) (ERM, p = 0) or of (W_sl, b) with W_ul frozen (FTT), from a Xavier start.

    Parameters
    ----------
    mechanism : Mechanism
    m : int
        Number of features.
    p : float
        Fraction of frozen principal components; p·m must be whole.
    t : float or increasing sequence of float
        Times to record; the first may be 0.
    rng : numpy Generator or int
        Source of the Xavier-uniform start.
    tolerance : float
        Relative and absolute tolerance of the integrator; the error in W is a few times as large.

    Raises
    ------
    FttError
        If the tolerance cannot be met, which is also judged by the invariant M at the end.

    Examples
    --------
    >>> mechanism = Mechanism([[2.0]], [1.0], [1.0], eta_core=0.5, eta_spu=1.0)
    >>> end = flow(mechanism, m=1, t=[1.0, 100.0], rng=1)
    >>> np.round(end.v[-1], 6)
    array([0.8, 0.2])
    """
    return follow(mechanism, xavier_start(mechanism, m, p, rng), t, tolerance=tolerance)


def follow(
    mechanism: Mechanism, start: Start, t: Times = 1e4, *, teacher: Array | None = None, tolerance: float = 1e-8
) -> Flow:
    """Gradient flow from a given start, as `flow` describes it.

    Parameters
    ----------
    start : Start
        W (d, m), b (m,) and the number of frozen columns.
    teacher : array (d,), optional
        Coefficients u of a teacher: the network is trained on the labels xu instead of y, so that v(t) tends to u.

    Examples
    --------
    >>> mechanism = Mechanism([[2.0]], [1.0], [1.0], eta_core=1.0, eta_spu=0.5)
    >>> student = follow(mechanism, xavier_start(mechanism, 1), 100.0, teacher=np.array([0.9, 0.1]))
    >>> np.round(student.v[-1], 6)
    array([0.9, 0.1])
    """
    times = np.atleast_1d(np.asarray(t, dtype=np.float64))
    increasing = times.ndim == 1 and times.size > 0 and times[0] >= 0 and bool(np.all(np.diff(times) > 0))
    if not increasing or times[-1] > MAX_TIME:
        raise FttError(
            "t must be an increasing sequence of times",
            given=t if times.size < 10 else f"{times.size} times",
            allowed=f"0 <= t_1 < t_2 < … <= {MAX_TIME:g}",
        )
    m = start.b.size
    if start.W.shape != (mechanism.d, m) or start.b.shape != (m,) or not 0 <= start.frozen <= m:
        raise FttError(
            "the start does not fit the mechanism",
            given=f"W {start.W.shape}, b {start.b.shape}, {start.frozen} frozen",
            allowed=f"W ({mechanism.d}, m), b (m,), at most m frozen",
        )
    if not max(np.abs(start.W).max(initial=0), np.abs(start.b).max(initial=0)) <= LARGEST_START:
        raise FttError("the start has entries that are too large or not numbers", allowed=f"up to {LARGEST_START:g}")
    if teacher is not None and (teacher.shape != (mechanism.d,) or not np.abs(teacher).max() <= LARGEST_START):
        raise FttError(
            "the teacher does not fit the mechanism",
            given=f"shape {teacher.shape}, largest entry {np.abs(teacher).max():.3g}",
            allowed=f"shape ({mechanism.d},), entries up to {LARGEST_START:g}",
        )
    need_number("tolerance", tolerance, 1e-16, 0.1)
    need_dimension(mechanism.d, m)
    need_memory("recording the flow", times.size, mechanism.d, m)
    with single_thread():
        result = _integrate(mechanism, start, times, teacher, tolerance)
        _refuse_drift(result, tolerance)
    return result


def _integrate(mechanism: Mechanism, start: Start, times: Array, teacher: Array | None, tolerance: float) -> Flow:
    D, Xi = mechanism.spectrum
    f = start.frozen
    origin = State(0.0, Xi.T @ start.W, start.b)
    W_out = np.empty((times.size, *start.W.shape))
    b_out = np.empty((times.size, start.b.size))
    c_0, done, steps, rejected = _trained_norm(origin, f), 0, 0, 0
    if times[0] == 0:
        W_out[0], b_out[0], done = start.W, start.b, 1
    e = Xi.T @ mechanism.xy if teacher is None else D * (Xi.T @ teacher)
    for state in integrate(Field(D, e, f), origin, times[done:].tolist(), tolerance):
        c_0, steps, rejected = min(c_0, _trained_norm(state, f)), state.accepted, state.rejected
        if state.t == times[done]:
            W_out[done], b_out[done] = Xi @ state.V, state.b
            W_out[done, :, :f] = start.W[:, :f]
            done += 1
    return Flow(mechanism, start, times, W_out, b_out, c_0, steps, rejected, teacher)


def _trained_norm(state: State, frozen: int) -> float:
    """‖W_sl b_sl‖, the length that the theorems assume to stay away from zero."""
    return float(np.linalg.norm(state.V[:, frozen:] @ state.b[frozen:]))


def _refuse_drift(result: Flow, tolerance: float) -> None:
    size = np.abs(invariant(result.W[-1], result.b[-1], result.start.frozen)).max(initial=0.0)
    allowed = DRIFT_FACTOR * tolerance * (1 + size + float(result.b[-1] @ result.b[-1]))
    drift = float(result.drift[-1])
    if not drift <= allowed:
        raise FttError(
            "the integration lost the invariant WᵀW − bbᵀ, so its result is not reliable",
            given=f"drift {drift:.3g}, condition number of Σ "
            f"{result.mechanism.eigenvalues[0] / result.mechanism.eigenvalues[-1]:.3g}",
            allowed=f"drift <= {allowed:.3g}",
            hint="decrease the tolerance",
        )
