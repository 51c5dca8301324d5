"""Logits of a trained network whose last layer was refitted on the rows it gets wrong; no attribute enters the fit.

Qiu et al., *Simple and fast group robustness by automatic feature reweighting*, ICML 2023 (AFR). With p_i the trained
network's probability of the observed label y_i of a held-out row, and n_k the rows of class k,

    min_W Σ_i μ_i · ℓ(W φ_i, y_i) + λ ‖W − W_trained‖²,   μ_i ∝ exp(−γ p_i) / n_{y_i}.

Held-out rows are those of the target split here, the same that every other recipe is given; the published code sets a
fifth of the training split aside. γ and λ are chosen by the worst group on a held-out half, as in the paper. What the
probe sees are the logits, so that it can only weigh and shift them.

When not to use: where labels are noisy. Rows that look wrong to the network get most weight, and noisy ones do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from ftt.arrays import BoolArray, FloatArray, IntArray
from ftt.freeze.freezer import Projection
from ftt.params import param
from ftt.rng import generator
from ftt.sources.source import Source

if TYPE_CHECKING:
    from ftt.train.fitting import Job
    from ftt.train.model import Block

GAMMAS = (0.0, 2.0, 4.0, 8.0, 16.0)
LAMBDAS = (0.001, 0.01, 0.1)


@dataclass(frozen=True)
class AFR(Source):
    """Logits of a last layer refitted on rows weighted by the network's own errors."""

    name: ClassVar[str] = "afr"
    needs: ClassVar[tuple[str, ...]] = ("trained",)
    uses_target: ClassVar[bool] = True

    by: str = param("erm", help="method by name")

    def fit(self, job: Job) -> Block:
        target = job.require_target("afr")
        trained = job.train_alone(self.by)
        phi = job.features([trained], target).astype(np.float64)
        own = job.own_head(trained).projection
        assert own is not None
        start = np.vstack([own.weight, own.bias]).astype(np.float64)
        rows = np.hstack([phi, np.ones((len(phi), 1))])
        first = generator(job.seed, "afr").permutation(len(rows)) < len(rows) // 2

        def score(gamma: float, lam: float) -> float:
            head = refit(rows[first], target.y[first], start, gamma, lam)
            return _worst(rows[~first] @ head, target.y[~first], target.a[~first])

        gamma, lam = max(((g, weight) for g in GAMMAS for weight in LAMBDAS), key=lambda pair: score(*pair))
        head = refit(rows, target.y, start, gamma, lam).astype(np.float32)
        return replace(trained, projection=Projection(np.ascontiguousarray(head[:-1]), head[-1], 1.0))


def refit(rows: FloatArray, y: IntArray, start: FloatArray, gamma: float, lam: float) -> FloatArray:
    """The weighted last layer.

    Parameters
    ----------
    rows : (n, m + 1) array
        Features and a column of ones.
    y : (n,) array
        Observed labels.
    start : (m + 1, K) array
        Weights of the trained network's own last layer.

    Returns
    -------
    (m + 1, K) array
    """
    at = np.arange(len(y))
    weights = np.exp(-gamma * softmax(rows @ start, axis=1)[at, y]) / np.bincount(y, minlength=start.shape[1])[y]
    weights /= weights.sum()
    onehot = np.eye(start.shape[1])[y]

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        head = flat.reshape(start.shape)
        logits = rows @ head
        gradient = rows.T @ (weights[:, None] * (softmax(logits, axis=1) - onehot)) + 2 * lam * (head - start)
        value = -(weights * log_softmax(logits, axis=1)[at, y]).sum() + lam * ((head - start) ** 2).sum()
        return float(value), gradient.ravel()

    found: FloatArray = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return found.reshape(start.shape)


def _worst(logits: FloatArray, y: IntArray, a: IntArray) -> float:
    right: BoolArray = logits.argmax(axis=1) == y
    return min(float(right[a == value].mean()) for value in np.unique(a))
