"""The assumptions that the statements make about a mechanism.

Three of them compare λ_k with the noise: "salient" is stated in the paper, "salient-sum" is used in its proof of the
span lemma, and "salient-spu" is what that proof needs: the relevant eigenvalues of H exceed λ_k, so that λ_k only has
to exceed η_spu², the eigenvalue of the directions orthogonal to γ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DISTINCT_GAP = 1e-10
"""Relative gap below which two eigenvalues count as equal."""

SPAN_TOLERANCE = 1e-8
"""Size of a coefficient of β below which it counts as zero."""


@dataclass(frozen=True)
class Assumption:
    """One assumption: its text, whether it holds, and the numbers behind it."""

    text: str
    holds: bool
    detail: str


def check_all(
    eigenvalues: NDArray[np.float64], beta_coordinates: NDArray[np.float64], k: int, eta_core: float, eta_spu: float
) -> dict[str, Assumption]:
    """Check all assumptions; the keys are their names.

    Parameters
    ----------
    eigenvalues : array (d1,)
        Eigenvalues of Σ, descending.
    beta_coordinates : array (d1,)
        Coefficients of β in the eigenvectors of Σ.
    k : int
        Number of leading eigenvectors whose span contains β.
    """
    lam_k = float(eigenvalues[k - 1])
    gaps = -np.diff(eigenvalues) / eigenvalues[0]
    closest = float(gaps.min()) if gaps.size else np.inf
    core, spu = eta_core**2, eta_spu**2
    outside = float(np.abs(beta_coordinates[k:]).max(initial=0.0))
    found = (
        ("distinct", "the eigenvalues of Σ are distinct", closest > DISTINCT_GAP, f"smallest gap {closest:.3g} λ_1"),
        ("span", "β lies in the span of the top-k eigenvectors of Σ", outside <= SPAN_TOLERANCE,
         f"k = {k}, part of β outside {outside:.3g}"),
        ("salient-sum", "λ_k > η_core² + η_spu²", lam_k > core + spu, f"λ_{k} = {lam_k:.4g}, sum {core + spu:.4g}"),
        ("salient", "λ_k > max(η_core², η_spu²)", lam_k > max(core, spu),
         f"λ_{k} = {lam_k:.4g}, η_core² = {core:.4g}, η_spu² = {spu:.4g}"),
        ("salient-spu", "λ_k > η_spu²", lam_k > spu, f"λ_{k} = {lam_k:.4g}, η_spu² = {spu:.4g}"),
        ("core<spu", "η_core < η_spu", eta_core < eta_spu, f"η_core = {eta_core:.6g}, η_spu = {eta_spu:.6g}"),
        ("core>spu", "η_core > η_spu", eta_core > eta_spu, f"η_core = {eta_core:.6g}, η_spu = {eta_spu:.6g}"),
    )  # fmt: skip
    return {name: Assumption(text, bool(holds), detail) for name, text, holds, detail in found}
