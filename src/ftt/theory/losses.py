"""Exact population errors of given parameters: ℓ_tr, ℓ_te after retraining the last layer, and c.

Gaps are computed directly, not as differences of two errors: the statements bound the gap to the optimum, and a
difference would lose it to rounding.
"""

from __future__ import annotations

import numpy as np

from ftt.errors import FttError
from ftt.theory.mechanism import Array, Mechanism


def training_gap(mechanism: Mechanism, v: Array) -> float:
    """ℓ_tr − err*_tr = ½‖v − v*_tr‖²_H for v = Wb (d,) (proof of the training-error lemma)."""
    delta = v - mechanism.v_tr
    return float(delta @ mechanism.H @ delta) / 2


def training_error(mechanism: Mechanism, v: Array) -> float:
    """ℓ_tr(W, b) of v = Wb (d,)."""
    return mechanism.err_tr + training_gap(mechanism, v)


def cost_te(mechanism: Mechanism, delta: Array) -> float:
    """½ δᵀ diag(Σ, η_spu²I) δ = ½ E_te[(xδ)²] for δ (d,): what a deviation of v costs at test time."""
    core, spu = delta[: mechanism.d1], delta[mechanism.d1 :]
    return float(core @ mechanism.Sigma @ core + mechanism.eta_spu**2 * (spu @ spu)) / 2


def retrain(mechanism: Mechanism, W: Array) -> tuple[float, Array]:
    """Retrain the last layer at test time, exactly (least squares).

    The test error is ½(η₁² + ‖W₁b − β‖²_Σ + η₂²‖W₂b‖²), minimised over b (equation "test_error_fix").

    Parameters
    ----------
    W : array (d, m)
        Feature matrix.

    Returns
    -------
    gap : float
        ℓ_te(W) − err*_te.
    b : array (m,)
        The minimiser, of minimum norm if W is rank deficient.
    """
    if W.ndim != 2 or W.shape[0] != mechanism.d:
        raise FttError("W has an incompatible shape", given=W.shape, allowed=f"({mechanism.d}, m)")
    root = np.sqrt(mechanism.eigenvalues)[:, None] * mechanism.Q.T
    design = np.concatenate([root @ W[: mechanism.d1], mechanism.eta_spu * W[mechanism.d1 :]])
    target = np.concatenate([root @ mechanism.beta, np.zeros(mechanism.d2)])
    b = np.linalg.lstsq(design, target, rcond=None)[0]
    rest = design @ b - target
    return float(rest @ rest) / 2, b


def retrained_error(mechanism: Mechanism, W: Array) -> float:
    """ℓ_te(W) = min_b of the test error, for W (d, m)."""
    return mechanism.err_te + retrain(mechanism, W)[0]


def spurious_weight(mechanism: Mechanism, v: Array) -> float:
    """c = γᵀW₂b = γᵀv₂, the share of y predicted from the spurious features (decomposition lemma)."""
    return float(mechanism.gamma @ v[mechanism.d1 :])
