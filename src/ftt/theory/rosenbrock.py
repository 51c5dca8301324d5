"""A stiff integrator for the gradient flow: Rodas4 (Hairer & Wanner) without forming the Jacobian.

In the eigenbasis of H the flow reads, with V = (U, W) of frozen and trained columns and b = (b_U, b_W),

    r = e − D·(V b),    ∂W = r b_Wᵀ,    ∂b = Vᵀ r.

Two facts make a step cheap. Row i of the linear system (I − hγJ)x = R involves D_i only through the rank-one matrix
D_i b_W b_Wᵀ, so Sherman–Morrison eliminates every row and leaves one symmetric m × m system for the b-part. And every
stage is a sum of outer products r_i b_iᵀ, so stages are kept as factors (2 columns each) and the d × m matrix only
occurs in products with vectors. A step costs O(d m²) once and O(d m) per stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ftt.errors import FttError
from ftt.theory.mechanism import Array

GAMMA = 0.25
STAGES = 6

# Rodas4, order 4 with an embedded order 3, stiffly accurate and L-stable; stage sums of the transformed scheme.
A = np.zeros((STAGES, STAGES))
A[1, :1] = 1.544
A[2, :2] = 0.9466785280815826, 0.2557011698983284
A[3, :3] = 3.314825187068521, 2.896124015972201, 0.9986419139977817
A[4, :4] = 1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950
A[5, :5] = *A[4, :4], 1.0
C = np.zeros((STAGES, STAGES))
C[1, :1] = -5.6688
C[2, :2] = -2.430093356833875, -0.2063599157091915
C[3, :3] = -0.1073529058151375, -9.594562251023355, -20.47028614809616
C[4, :4] = 7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160
C[5, :5] = 8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054


MAX_STEPS = 10_000
"""Number of steps, accepted or rejected, after which the integrator gives up."""


@dataclass(frozen=True, eq=False)
class Field:
    """The vector field in the eigenbasis of H.

    Parameters
    ----------
    D, e : arrays (d,)
        Eigenvalues of H, and E[xᵀy] in its eigenbasis.
    frozen : int
        Number of leading columns of V that never move.
    """

    D: Array
    e: Array
    frozen: int


@dataclass(frozen=True, eq=False)
class State:
    """One point of the flow: time, all columns V (d, f + q) in the eigenbasis, head b (f + q,), steps so far."""

    t: float
    V: Array
    b: Array
    accepted: int = 0
    rejected: int = 0


def integrate(field: Field, state: State, stops: Sequence[float], tolerance: float) -> Iterator[State]:
    """Integrate from `state` and yield the state after every accepted step; each stop is met exactly.

    Parameters
    ----------
    field : Field
    state : State
        V (d, m) and b (m,) at the initial time.
    stops : increasing sequence of float
        Times to land on; the last one ends the integration.
    tolerance : float
        Relative and absolute tolerance on the local error of every entry of W and b (root mean square).
    """
    t, V, b, accepted, rejected = state.t, state.V, state.b, 0, 0
    step = _first_step(field, V, b)
    for stop in stops:
        while t < stop:
            if accepted + rejected >= MAX_STEPS or step <= 1e-15 * max(t, 1e-300):
                raise FttError(
                    "the gradient flow cannot be integrated to this time at this tolerance",
                    given=f"t = {stop:g}, stopped at t = {t:.6g} with step {step:.3g} after {accepted} steps",
                    allowed=f"at most {MAX_STEPS} steps",
                    hint="increase the tolerance, or check the eigenvalues of Σ and the noises",
                )
            landing = t + step >= stop * (1 - 1e-12)
            h = stop - t if landing else step
            V1, b1, error = rodas_step(field, V, b, h, tolerance)
            factor = min(6.0, max(0.2, 0.9 * max(error, 1e-8) ** -0.25)) if np.isfinite(error) else 0.1
            if error <= 1:
                t, V, b = (stop if landing else t + h), V1, b1
                accepted += 1
                # A step cut short to land must not shorten the ones after it.
                step = max(h * factor, step) if landing else h * factor
                yield State(t, V, b, accepted, rejected)
            else:
                rejected += 1
                step = h * factor


def _first_step(field: Field, V: Array, b: Array) -> float:
    D = field.D
    speed = float(D[0]) * float(b @ b + np.vdot(V, V)) + float(np.linalg.norm(field.e - D * (V @ b)))
    return 0.01 / speed


def rodas_step(field: Field, V: Array, b: Array, h: float, tolerance: float) -> tuple[Array, Array, float]:
    """One step of length `h`: the new V and b, and the error estimate in units of the tolerance."""
    D, e, frozen = field.D, field.e, field.frozen
    a = h * GAMMA
    W, w = V[:, frozen:], b[frozen:]
    q = w.size
    r0 = e - D * (V @ b)
    try:
        G, GV, inverse = _eliminate(field, V, b, r0, a)
    except np.linalg.LinAlgError:
        return V, b, np.inf

    # Stage i of W is left.T @ right[i]: rows 2i and 2i + 1 of `left` are its residual and its change of residual.
    left = np.zeros((2 * STAGES, D.size))
    right = np.zeros((STAGES, 2 * STAGES, q))
    flat = right.reshape(STAGES, -1)
    head = np.zeros((STAGES, b.size))
    left[0] = r0
    for i in range(STAGES):
        n, stage = 2 * i, right[i]
        if i == 0:
            b_i, force = b, a * (V.T @ r0)
        else:
            move = (A[i, :i] @ flat[:i]).reshape(2 * STAGES, q)[:n]
            b_i = b + A[i, :i] @ head[:i]
            r = e - D * (V @ b_i + (move @ b_i[frozen:]) @ left[:n])
            left[n] = r
            force = V.T @ r
            force[frozen:] += (left[:n] @ r) @ move
            force = a * force + (GAMMA * C[i, :i]) @ head[:i]
            flat[i] = (GAMMA * C[i, :i]) @ flat[:i]
        stage[n] = a * b_i[frozen:]
        along = (stage[: n + 1] @ w) @ left[: n + 1]
        force -= a * (along @ GV)
        force[frozen:] += a * ((left[: n + 1] @ r0) @ stage[: n + 1])
        x = inverse @ force
        head[i] = x
        left[n + 1] = -G * along - GV @ x
        stage[n + 1] = a * w
        stage[0] += a * x[frozen:]

    error_W = left.T @ right[-1]
    W1 = W + left.T @ (A[-1] @ flat).reshape(2 * STAGES, q) + error_W
    b1 = b + A[-1] @ head + head[-1]
    scaled_W = error_W / (tolerance * (1 + np.maximum(np.abs(W), np.abs(W1))))
    scaled_b = head[-1] / (tolerance * (1 + np.maximum(np.abs(b), np.abs(b1))))
    size = float(np.sqrt((np.vdot(scaled_W, scaled_W) + scaled_b @ scaled_b) / (W.size + b.size)))
    return np.concatenate([V[:, :frozen], W1], axis=1), b1, size


def _eliminate(field: Field, V: Array, b: Array, r0: Array, a: float) -> tuple[Array, Array, Array]:
    """Sherman–Morrison on every row: δr = −G(R w + Ṽ x_b), where Ṽ = V + a r₀wᵀ and G = D / (1 + aD‖w‖²).

    Returns G (d,), GṼ (d, m) and the inverse of the m × m system that is left for x_b. An inverse, not a
    factorisation: six right-hand sides come one after another, and products are cheaper than calls.
    """
    D, frozen = field.D, field.frozen
    w = b[frozen:]
    G = D / (1 + a * D * (w @ w))
    tilted = V.copy()
    tilted[:, frozen:] += np.multiply.outer(a * r0, w)
    GV = G[:, None] * tilted
    system = a * (tilted.T @ GV)
    diagonal = np.ones(b.size)
    diagonal[frozen:] -= a * a * (r0 @ r0)
    system.flat[:: b.size + 1] += diagonal
    return G, GV, np.asarray(np.linalg.inv(system), dtype=np.float64)
