"""One function per statement of Section 3, Section 4.2 and their appendix.

Each returns the bound (or the other side of the equation), documents what it assumes, and raises an `FttError` if an
assumption fails. Errors are in the paper's units (half a squared error); ratios are ℓ_te/err*_te.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ftt.errors import FttError, unknown
from ftt.theory.gradient_flow import Start, invariant
from ftt.theory.losses import spurious_weight, training_error, training_gap
from ftt.theory.mechanism import Array, Mechanism

RANK_TOLERANCE = 1e-12
DecayVariant = Literal["gronwall", "paper"]
LowerVariant = Literal["main", "appendix", "start"]


def lemma_1(mechanism: Mechanism) -> float:
    """Lemma 1: ℓ_tr(W, b) ≥ err*_tr for every W and b. No assumption beyond an invertible Σ."""
    return mechanism.err_tr


def decomposition(mechanism: Mechanism, W: Array, b: Array) -> float:
    """Decomposition lemma: ℓ_te(W) ≤ ℓ_tr(W, b) / (1 − γᵀW₂b)², for every W (d, m) and b (m,) with γᵀW₂b ≠ 1."""
    v = W @ b
    c = spurious_weight(mechanism, v)
    if abs(1 - c) < RANK_TOLERANCE:
        raise FttError("the decomposition lemma does not apply: γᵀW₂b is 1", given=c, allowed="γᵀW₂b != 1")
    return training_error(mechanism, v) / (1 - c) ** 2


def c_interval(mechanism: Mechanism, l_tr: float) -> tuple[float, float]:
    """The interval that contains c_t = γᵀW₂b if the training error is `l_tr` ("Bound c_t", proof of Theorem 1)."""
    core, spu = mechanism.eta_core**2, mechanism.eta_spu**2
    if l_tr < mechanism.err_tr * (1 - 1e-12):
        raise FttError("the training error is below its minimum", given=l_tr, allowed=f">= {mechanism.err_tr:.6g}")
    width = np.sqrt(max(2 * l_tr * (core + spu) - core * spu, 0.0))
    return float((core - width) / (core + spu)), float((core + width) / (core + spu))


def training_decay(
    mechanism: Mechanism, start: Start, c_0: float, t: float, *, variant: DecayVariant = "gronwall"
) -> float:
    """Training-error lemma: an upper bound of ℓ_tr(t) with explicit constants.

    Assumes ‖W_sl(t)b_sl(t)‖ ≥ c_0 > 0 throughout (‖v(t)‖ for ERM). The invariant then gives
    ‖b_sl(t)‖² ≥ μ = √(c_0² + M²/4) − M/2 with M = max(λ_max(M(0)), 0), and Grönwall's inequality

        ℓ_tr(t) ≤ err*_tr + ½‖v(0) − v*_tr‖²_H · exp(−2 μ λ_min(H) t).

    ``variant="paper"`` sets M = 2 as the appendix does. That constant needs ‖W(0)‖ ≤ 1, which a Xavier-uniform start
    does not satisfy, so that the result is an upper bound only if λ_max(M(0)) ≤ 2. The O(1/t) of the lemma follows from
    either form; the matrix exponential in its proof is valid only if H commutes with ∫A.
    """
    if not c_0 > 0:
        raise FttError("the training-error lemma does not apply: c_0 is not positive", given=c_0, allowed="c_0 > 0")
    if variant not in ("gronwall", "paper"):
        raise unknown("variant of the training-error lemma", variant, ["gronwall", "paper"])
    M0 = invariant(start.W, start.b, start.frozen)
    size = 2.0 if variant == "paper" else max(float(np.linalg.eigvalsh(M0)[-1]), 0.0)
    mu = float(np.sqrt(c_0**2 + size**2 / 4)) - size / 2
    slowest = float(mechanism.spectrum[0][-1])
    gap = training_gap(mechanism, start.W @ start.b)
    return mechanism.err_tr + gap * float(np.exp(-2 * mu * slowest * t))


def error_identity(mechanism: Mechanism, W: Array, *, tolerance: float = 1e-6) -> float:
    """Lemma "simplify error": ℓ_te(W)/err*_te = 1 + (η₁²/η₂²) γᵀ(I + η₂² W₂Λ⁻¹W₂ᵀ)⁻¹γ with Λ = W₁ᵀΣW₁.

    Assumes that W₁ (d1, m) has full column rank and that v*_tr lies in the span of W, as for t → ∞; `tolerance` is the
    largest accepted distance of v*_tr from the span, relative to its length. (A line of the proof drops a factor:
    (1−α)²/(2η₂²α²) should read η₂²(1−α)²/(2α²); its last line is correct.)
    """
    W1, W2 = W[: mechanism.d1], W[mechanism.d1 :]
    _smallest_singular(W1, "the test-error identity")
    rest = W @ np.linalg.lstsq(W, mechanism.v_tr, rcond=None)[0] - mechanism.v_tr
    away = float(np.linalg.norm(rest) / np.linalg.norm(mechanism.v_tr))
    if away > tolerance:
        raise FttError(
            "the test-error identity does not apply: v*_tr is not in the span of W",
            given=f"relative distance {away:.3g}",
            allowed=f"<= {tolerance:g}",
            hint="increase t",
        )
    core, spu = mechanism.eta_core**2, mechanism.eta_spu**2
    # Woodbury: γᵀ(I + η₂²W₂Λ⁻¹W₂ᵀ)⁻¹γ = 1 − η₂² sᵀ(Λ + η₂²W₂ᵀW₂)⁻¹s with s = W₂ᵀγ, an m × m system. This Schur
    # complement is the squared residual of a least-squares problem, which avoids the subtraction.
    root = np.sqrt(mechanism.eigenvalues)[:, None] * mechanism.Q.T
    design = np.concatenate([root @ W1, mechanism.eta_spu * W2])
    target = np.concatenate([np.zeros(mechanism.d1), mechanism.gamma])
    left_over = np.linalg.lstsq(design, target, rcond=None)[0]
    residual = design @ left_over - target
    return 1 + core / spu * float(residual @ residual)


def theorem_1(mechanism: Mechanism, l_tr: float | None = None, *, any_order: bool = False) -> float:
    """Theorem 1 (upper bound): ℓ_te(W(t)) ≤ (1 + η_core²/η_spu²) err*_te + O(1/t).

    Assumes 0 < η_core < η_spu and a flow bounded away from zero. For large t the proof does not use the order of the
    noises; ``any_order=True`` drops that assumption.

    Parameters
    ----------
    l_tr : float, optional
        The training error at time t. The bound is then the one for this t, before the proof simplifies it to O(1/t):
        the largest ℓ_tr / (1 − c)² over the interval of c_t, which must end below 1.
    """
    if not any_order:
        mechanism.require("core<spu", statement="Theorem 1")
    if l_tr is None:
        return mechanism.err_te / mechanism.alpha
    high = c_interval(mechanism, l_tr)[1]
    if high >= 1:
        raise FttError(
            "Theorem 1 gives no bound yet: the training error still allows c_t = 1",
            given=f"ℓ_tr = {l_tr:.6g}",
            allowed=f"ℓ_tr < η_spu²/2 = {mechanism.eta_spu**2 / 2:.6g}",
            hint="increase t",
        )
    return l_tr / (1 - high) ** 2


def theorem_2(
    mechanism: Mechanism,
    W: Array,
    *,
    variant: LowerVariant = "main",
    start: Start | None = None,
    any_order: bool = False,
) -> float:
    """Theorem 2 (lower bound) on lim ℓ_te(W(t))/err*_te, with W = W(∞) (d, m).

        1 + η_core²/(2η_spu²) · min(1, 1 / (2 η_spu² ‖S‖ ‖W₁†‖²)),   ‖W₁†‖ = 1/σ_min(W₁).

    Assumes η_core > η_spu and that W₁(∞) has full column rank.

    Parameters
    ----------
    variant : {"main", "appendix", "start"}
        ``main``: S = Σ⁻¹, the theorem of the main text. ``appendix``: S = Σ, as printed in the appendix lemma; this is
        **false**, and the proof there arrives at Σ⁻¹. ``start``: S = Σ⁻¹ with the bound on ‖W₂(∞)‖² implied by the
        given start instead of ‖W₂‖² < 2 (which needs ‖W(0)‖ ≤ 1); this form is proved.
    start : Start, optional
        The parameters at t = 0, for ``variant="start"``.
    """
    if not any_order:
        mechanism.require("core>spu", statement="Theorem 2")
    sigma = _smallest_singular(W[: mechanism.d1], "Theorem 2")
    core, spu = mechanism.eta_core**2, mechanism.eta_spu**2
    norm_S = float(mechanism.eigenvalues[0]) if variant == "appendix" else 1 / float(mechanism.eigenvalues[-1])
    if variant in ("main", "appendix"):
        return 1 + core / (2 * spu) * min(1.0, sigma**2 / (2 * spu * norm_S))
    if variant != "start":
        raise unknown("variant of Theorem 2", variant, ["main", "appendix", "start"])
    if start is None or start.frozen:
        raise FttError("this variant of Theorem 2 needs the start of an ERM flow", hint="pass start=flow.start")
    return 1 + core / spu / (1 + spu * spurious_norm_limit(mechanism, start) * norm_S / sigma**2)


def single_feature_ratio(mechanism: Mechanism) -> float:
    """1 + (η₁²/η₂²) / (1 + η₁⁴/(η₂² g)): the limit of ℓ_te/err*_te for m = 1, and an upper bound for every m.

    Not in the paper; it sharpens Theorem 1. In the test-error identity Λ⁻¹ ⪰ bbᵀ/(bᵀΛb) gives
    W₂Λ⁻¹W₂ᵀ ⪰ ((1−α)²/(α²g)) γγᵀ, with equality for m = 1. Holds for t → ∞, in either order of the noises.
    """
    core, spu = mechanism.eta_core**2, mechanism.eta_spu**2
    return 1 + core / spu / (1 + core**2 / (spu * mechanism.g))


def spurious_norm_limit(mechanism: Mechanism, start: Start) -> float:
    """The bound on ‖W₂(∞)‖² from the invariant: x² ≤ (1−α)² + s²x for x = ‖W₂(∞)‖², s = ‖W(0)‖ (lemma "2norm").

    The appendix assumes s ≤ 1 and obtains 2. A Xavier-uniform W(0) has s ≈ √2 (√d + √m)/√(d + m) > 1.
    """
    s2 = float(np.linalg.norm(start.W, 2)) ** 2
    return (s2 + float(np.sqrt(s2**2 + 4 * (1 - mechanism.alpha) ** 2))) / 2


def _smallest_singular(W1: Array, statement: str) -> float:
    values = np.linalg.svd(W1, compute_uv=False)
    if W1.shape[1] > W1.shape[0] or values[-1] <= RANK_TOLERANCE * values[0]:
        raise FttError(
            f"{statement} does not apply: W₁ does not have full column rank",
            given=f"shape {W1.shape}, singular values {values[-1]:.3g} to {values[0]:.3g}",
            allowed="m <= d1 and independent columns",
        )
    return float(values[-1])
