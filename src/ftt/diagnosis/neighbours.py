"""Label noise from the agreement of neighbours: HOC, and its closed form for symmetric noise.

HOC (Zhu, Song, Liu: Clusterability as an Alternative to Anchor Points When Learning with Noisy Labels, ICML 2021)
assumes that a row and its two nearest neighbours share the true class. How often one, two and three of their observed
labels take each combination of values then follows from the class shares p and the transition matrix T alone:

    P(y₁ = i) = Σ_c p_c T_ci,   P(y₁ = i, y₂ = j) = Σ_c p_c T_ci T_cj,
    P(y₁ = i, y₂ = j, y₃ = k) = Σ_c p_c T_ci T_cj T_ck

and p and T are those that match the counts best. If noise is symmetric, with two classes, the second line alone gives
P(y₁ = y₂) = (1 − η)² + η², so η = (1 − √(2 P(y₁ = y₂) − 1)) / 2.

Neighbours of another class look like noise: both are upper bounds, and loose ones where the features
carry the label poorly.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from ftt.arrays import FloatArray, IntArray

MOST_CLASSES = 12
"""Triples of more classes are too many to count in a target split."""


def nearest(phi: FloatArray, a: IntArray, count: int = 2) -> IntArray:
    """(n, count) rows nearest by cosine, looked for among rows of the same attribute value."""
    centred = phi - phi.mean(axis=0)
    unit = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)
    found = np.empty((len(phi), count), dtype=np.int64)
    for value in np.unique(a):
        rows = np.flatnonzero(a == value)
        for start in range(0, len(rows), 1024):
            part = np.arange(start, min(start + 1024, len(rows)))
            similar = unit[rows[part]] @ unit[rows].T
            similar[np.arange(len(part)), part] = -np.inf
            found[rows[part]] = rows[np.argsort(-similar, axis=1, kind="stable")[:, :count]]
    return found


def consensus(y: IntArray, neighbours: IntArray) -> float:
    """HOC's share of wrong labels, 1 − Σ_c p_c T_cc."""
    K = int(y.max()) + 1
    third = np.zeros((K, K, K))
    np.add.at(third, (y, y[neighbours[:, 0]], y[neighbours[:, 1]]), 1 / len(y))
    second, first = third.sum(axis=2), third.sum(axis=(1, 2))

    def parts(point: FloatArray) -> tuple[FloatArray, FloatArray]:
        return softmax(point[:K]), softmax(point[K:].reshape(K, K) + 3 * np.eye(K), axis=1)

    def distance(point: FloatArray) -> float:
        p, T = parts(point)
        two = np.einsum("c,ci,cj->ij", p, T, T)
        three = np.einsum("c,ci,cj,ck->ijk", p, T, T, T)
        return float(((p @ T - first) ** 2).sum() + ((two - second) ** 2).sum() + ((three - third) ** 2).sum())

    found = minimize(distance, np.zeros(K + K * K), method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9})
    p, T = parts(found.x)
    return float(1 - np.sum(p * np.diag(T)))


def closed_form(y: IntArray, neighbours: IntArray) -> float:
    """The noise at which two labels of one true class agree as often as nearest neighbours do.

    With K classes, P(agree) = (1 − η)² + η² / (K − 1); 1 − 1/K where neighbours agree no more often than by chance.
    """
    K = int(y.max()) + 1
    agree = float(np.mean(y == y[neighbours[:, 0]]))
    # K/(K−1) η² − 2 η + (1 − agree) = 0
    lead = K / (K - 1)
    return float((1 - np.sqrt(max(1 - lead * (1 - agree), 0.0))) / lead)
