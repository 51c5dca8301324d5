"""Features that meet only at probing: late joining, `both` and `taught` in the paper's linear model.

Not in the paper; proofs are in docs/paper-notes.md. The bounds are about the population; `expected_error` is about a
probe fitted on n target rows.
"""

from __future__ import annotations

import numpy as np

from ftt.errors import FttError
from ftt.theory.gradient_flow import Flow
from ftt.theory.losses import cost_te, retrain, retrained_error
from ftt.theory.mechanism import Array, Mechanism
from ftt.theory.span import joined_bound, required_c_1


def join(*blocks: Array) -> Array:
    """Feature blocks (d, m_i) side by side, shape (d, Σ m_i)."""
    return np.concatenate(blocks, axis=1)


def late_joined(run: Flow, frozen: int) -> Array:
    """ℓ_te at every recorded time of the first `frozen` principal components joined with the features of `run`.

    `run` is the flow of a network trained alone (p = 0). Shape (n,).
    """
    top = run.mechanism.components(frozen)
    return np.array([retrained_error(run.mechanism, join(top, W)) for W in run.W])


def late_joining(mechanism: Mechanism, frozen: int, v: Array | None = None) -> float:
    """Late-joining bound: Theorem 3 for principal components and a network trained alone, joined at probing.

    ℓ_te(Ξ_{:f}, W_ERM(t)) ≤ err*_te + O(1/t), because the frozen span holds (β, c₁γ) and v(t) → v*_tr.

    Assumes what the span lemma assumes, f >= k, and an η_core other than the excluded one. The flow of ERM must be
    bounded away from zero (‖v(t)‖ ≥ c_0 > 0, as in Theorem 1), not that of FTT (‖W_sl b_sl‖ ≥ c_0, as in Theorem 3).

    Parameters
    ----------
    frozen : int
        f, the number of principal components.
    v : array (d,), optional
        v(t) of the network trained alone. The bound is then the one for this t, `joined_bound`.

    Examples
    --------
    >>> mechanism = Mechanism([[2.0]], [1.0], [1.0], eta_core=1.0, eta_spu=0.5)
    >>> late_joining(mechanism, 1) == mechanism.err_te
    True
    """
    c_1 = required_c_1(mechanism, frozen, "the late-joining bound")
    return mechanism.err_te if v is None else joined_bound(mechanism, c_1, v)


def teacher_of(mechanism: Mechanism, W: Array) -> Array:
    """The probe fitted at test time on the features W (d, m), as coefficients u of x, shape (d,)."""
    return np.asarray(W @ retrain(mechanism, W)[1])


def taught_bound(mechanism: Mechanism, teacher: Array, v: Array | None = None) -> float:
    """Bound on ℓ_te of a student's features: err*_te + (√gap(u) + √(½‖v − u‖²))², in the norm of `cost_te`.

    gap(u) is the test error of the teacher u (d,) above the optimum, and v (d,) that of the student, u for t → ∞. The
    student's labels xu are a linear function of x: its flow tends to u whatever the noises, and no η_core is excluded.
    """
    own = cost_te(mechanism, teacher - mechanism.v_te)
    rest = 0.0 if v is None else cost_te(mechanism, v - teacher)
    return mechanism.err_te + float(np.sqrt(own) + np.sqrt(rest)) ** 2


def expected_error(mechanism: Mechanism, W: Array, n: int) -> float:
    """Mean test error of least squares fitted on n target rows of the features W (d, m), for Gaussian x₁ and noise.

    ℓ_te(W) · (n − 1)/(n − r − 1) with r the rank of W; needs n > r + 1.
    """
    rank = int(np.linalg.matrix_rank(W))
    if not n > rank + 1:
        raise FttError("too few target rows for these features", given=f"n = {n}", allowed=f"n > rank + 1 = {rank + 1}")
    return retrained_error(mechanism, W) * (n - 1) / (n - rank - 1)
