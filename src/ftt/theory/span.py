"""How much of β the principal components span: the span lemma, the excluded η_core and Theorem 3 (Section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from ftt.errors import FttError, unknown
from ftt.theory.losses import cost_te
from ftt.theory.mechanism import Array, Mechanism

Salience = Literal["statement", "proof", "needed"]
_SALIENCE = {"statement": "salient", "proof": "salient-sum", "needed": "salient-spu"}

EXCLUDED_GAP = 1e-9
"""Relative distance of c₁ from (1−α)/α below which η_core counts as excluded."""


@dataclass(frozen=True)
class SpanLemma:
    """The span lemma for one mechanism.

    Parameters
    ----------
    c_1 : float
        The number for which (β, c₁γ) lies in span(Ξ_{:k}).
    mu : float
        μ_{k+1}, the eigenvalue of H whose eigenvector PCA misses.
    forbidden : float
        (1−α)/α = η_core²/η_spu², the value c₁ must not take.
    """

    c_1: float
    mu: float
    forbidden: float


def span_lemma(mechanism: Mechanism, *, salience: Salience = "needed") -> SpanLemma:
    """Span lemma: the c₁ with (β, c₁γ) in the span of the top-k eigenvectors of H.

    u_{k+1} = (Σ_τ e_τ q_τ, γ) is the one eigenvector of its group outside Ξ_{:k}; with equation "mu" of the proof
    orthogonality to it reads c₁ = Σ_τ λ_τ b_τ²/(λ_τ − μ_{k+1}) = (η_core² + η_spu²)/μ_{k+1} − 1, so c₁ > 0 always and
    c₁ = (1−α)/α exactly when μ_{k+1} = η_spu².

    Assumes distinct eigenvalues, β in the top-k span, and λ_k above the noise: ``salience="statement"`` asks for
    λ_k > max(η_core², η_spu²) as Section 3.1, ``"proof"`` for λ_k > η_core² + η_spu² as the proof,
    ``"needed"`` only for λ_k > η_spu².
    """
    if salience not in _SALIENCE:
        raise unknown("form of the salience assumption", salience, _SALIENCE)
    mechanism.require("distinct", "span", _SALIENCE[salience], statement="the span lemma")
    mu = _missed_eigenvalue(mechanism)
    total = mechanism.eta_core**2 + mechanism.eta_spu**2
    return SpanLemma(total / mu - 1, mu, (mechanism.eta_core / mechanism.eta_spu) ** 2)


def _missed_eigenvalue(mechanism: Mechanism) -> float:
    """μ_{k+1}: the root of equation "mu" below the smallest λ_τ that carries β.

    Divided by μ the equation reads 1 + Σ λb²/(λ − μ) = (η₁² + η₂²)/μ; multiplied by μ its difference is increasing on
    (0, λ_k), from −(η₁² + η₂²) to +∞, which gives a bracket.
    """
    lam, b2 = mechanism.eigenvalues[: mechanism.k], mechanism.beta_coordinates[: mechanism.k] ** 2
    total = mechanism.eta_core**2 + mechanism.eta_spu**2

    def excess(mu: float) -> float:
        return mu * (1 + float(np.sum(lam * b2 / (lam - mu)))) - total

    # excess(total) > 0 where total < λ_k, and excess → ∞ towards λ_k.
    high = min(total, float(lam[-1]) * (1 - 1e-15))
    while excess(high) < 0:
        high = (high + float(lam[-1])) / 2
    return float(brentq(excess, 0.0, high, xtol=1e-300, rtol=8.9e-16, maxiter=500))


def excluded_eta_core(mechanism: Mechanism) -> float:
    """The η_core that Theorem 3 excludes: η_core² = −η_spu² βᵀ(η_spu²I − Σ)⁻¹Σβ, where c₁ = (1−α)/α.

    Depends on Σ, β and η_spu only, and always exceeds η_spu. Assumes λ_k > η_spu².
    """
    mechanism.require("span", "salient-spu", statement="the excluded η_core")
    spu = mechanism.eta_spu**2
    lam, b2 = mechanism.eigenvalues[: mechanism.k], mechanism.beta_coordinates[: mechanism.k] ** 2
    return float(np.sqrt(spu * np.sum(lam * b2 / (lam - spu))))


def theorem_3(mechanism: Mechanism, frozen: int, v: Array | None = None, *, salience: Salience = "needed") -> float:
    """Theorem 3 (FTT bound): ℓ_te(W_FTT(t)) ≤ err*_te + O(1/t).

    Assumes what the span lemma assumes, at least k frozen components (the paper asks for p > k/m; p ≥ k/m is enough),
    and an η_core other than the excluded one.

    Parameters
    ----------
    frozen : int
        p·m, the number of frozen principal components.
    v : array (d,), optional
        v(t). Then the bound is the one the proof has before its O(1/t),
        err*_te + ½ (c₁/(c₁α − (1−α)))² δᵀ diag(Σ, η_spu²I) δ with δ = v(t) − v*_tr.
    """
    c_1 = required_c_1(mechanism, frozen, "Theorem 3", salience=salience)
    return mechanism.err_te if v is None else joined_bound(mechanism, c_1, v)


def required_c_1(mechanism: Mechanism, frozen: int, statement: str, *, salience: Salience = "needed") -> float:
    """The c₁ of the span lemma; an `FttError` if `frozen` components do not span (β, c₁γ) or η_core is excluded."""
    lemma = span_lemma(mechanism, salience=salience)
    if frozen < mechanism.k:
        raise FttError(
            f"{statement} does not apply: fewer components are frozen than span β",
            given=f"{frozen} frozen components",
            allowed=f"at least k = {mechanism.k}",
        )
    if abs(lemma.c_1 - lemma.forbidden) <= EXCLUDED_GAP * lemma.forbidden:
        raise FttError(
            f"{statement} does not apply: η_core has the excluded value, c₁ = (1−α)/α",
            given=f"η_core = {mechanism.eta_core:.9g}",
            allowed=f"η_core != {excluded_eta_core(mechanism):.9g}",
        )
    return lemma.c_1


def joined_bound(mechanism: Mechanism, c: float, v: Array) -> float:
    """Upper bound of ℓ_te for any features whose span holds both (β, cγ) and v (d,).

    With δ = v − v*_tr, the combination (cv − (1−α)(β, cγ)) / (cα − (1−α)) is (β, 0) + cδ/(cα − (1−α)), so that

        ℓ_te ≤ err*_te + ½ (c/(cα − (1−α)))² δᵀ diag(Σ, η_spu²I) δ.

    Infinite at the excluded c = (1−α)/α, where the two vectors are parallel in the limit.
    """
    below = c * mechanism.alpha - (1 - mechanism.alpha)
    if below == 0:
        return np.inf
    return mechanism.err_te + (c / below) ** 2 * cost_te(mechanism, v - mechanism.v_tr)
