"""Label noise as the level at which the calibration curve flattens.

If a share η of the labels is wrong, whatever the input, then even a probe that is certain is contradicted by a share η
of the labels: the curve of P(observed label | score) does not rise to 1 but to 1 − η. With q = softmax(α z + β_a) the
probability of the true label given the out-of-fold scores z, and noise that is equally likely to hit any other class,

    P(observed label = k | z, a) = (1 − η) q_k + η / (K − 1) · (1 − q_k)

and η, α and β are fitted by maximum likelihood. For two classes whose scores are normal with equal variance q is exact.
Unlike the error of the most confident rows, which is an upper bound, all rows count, and what the backbone does not
know is told apart from what is wrong: the first bends the curve, the second lowers its end. Intercepts β are fitted
within each value of the attribute, so that a shortcut in the scores does not count as certainty.

It assumes that fewer than half of the labels are wrong, and that wrong ones are no more frequent where the probe is
unsure. Where they are, the curve does not fit (`Asymptote.misfit`), and η is that of the rows the probe is sure of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import log_softmax
from scipy.stats import chi2

from ftt.arrays import FloatArray, IntArray
from ftt.diagnosis.estimate import Estimate
from ftt.diagnosis.scores import Scores

FEWEST = 20
"""Rows of every label within an attribute value from which on it gets intercepts of its own."""

SYSTEMATIC = 0.01
"""Added to both ends of the interval: scores are never exactly as the model has it."""

_STARTS = ((0.02, 1.0), (0.1, 1.5), (0.25, 3.0))
_BINS = 10


@dataclass(frozen=True)
class Asymptote:
    """A fitted calibration curve.

    Attributes
    ----------
    noise : Estimate
        η with its 95 % interval: profile likelihood, widened by `SYSTEMATIC`.
    misfit : float
        p-value of the Hosmer–Lemeshow statistic: small where no constant share of wrong labels fits.
    """

    noise: Estimate
    misfit: float


def estimate(scores: Scores, a: IntArray) -> Asymptote:
    """Fit the curve.

    Parameters
    ----------
    scores : Scores
        Out-of-fold scores of the observed labels.
    a : (n,) int array
        Attribute of every row.
    """
    curve = Curve(scores, a)
    loss, point = curve.best()
    return Asymptote(curve.interval(loss, point), curve.misfit(point))


def clean_probabilities(scores: Scores, a: IntArray) -> tuple[Estimate, FloatArray]:
    """The noise, and (n, K) probabilities of the true label given the scores alone, not the observed label."""
    curve = Curve(scores, a)
    loss, point = curve.best()
    return curve.interval(loss, point), curve.clean(point)


class Curve:
    """The likelihood of observed labels given their scores."""

    def __init__(self, scores: Scores, a: IntArray) -> None:
        self.y, self.K = scores.codes, scores.logits.shape[1]
        centred = scores.logits - scores.logits.mean(axis=1, keepdims=True)
        self.z = centred / (centred.std() or 1.0)
        cells = np.zeros((int(a.max()) + 1, self.K), dtype=int)
        np.add.at(cells, (a, self.y), 1)
        present = cells[cells.sum(axis=1) > 0]
        own = bool((present >= FEWEST).all())
        self.a = np.unique(a, return_inverse=True)[1] if own else np.zeros(len(a), dtype=np.int64)
        self.values = int(self.a.max()) + 1
        # Beyond it the observed label would be less likely than another, and labels could be renamed.
        self.largest = 0.999 * (1 - 1 / self.K)

    def fit(
        self, eta: float, alpha: float, *, fixed: bool = False, start: FloatArray | None = None
    ) -> tuple[float, FloatArray]:
        """Mean negative log-likelihood and parameters (η, α, β); with `fixed` η stays as it is."""
        point = np.concatenate([[eta, alpha], np.zeros(self.values * self.K)]) if start is None else start.copy()
        point[0] = eta
        span = (eta, eta) if fixed else (0.0, self.largest)
        bounds = [span, (0.0, 100.0), *[(-20.0, 20.0)] * (self.values * self.K)]
        found = minimize(self._loss, point, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 300})
        return float(found.fun), found.x

    def best(self) -> tuple[float, FloatArray]:
        """The fit from the best of several starts."""
        return min((self.fit(*start) for start in _STARTS), key=lambda fit: fit[0])

    def interval(self, loss: float, point: FloatArray) -> Estimate:
        """η with its interval: where the profile likelihood has dropped by what a chi-square allows."""
        limit = loss + chi2.ppf(0.95, 1) / (2 * len(self.y))

        def above(eta: float) -> float:
            return float(self.fit(eta, point[1], fixed=True, start=point)[0] - limit)

        eta, most = float(point[0]), self.largest
        low = 0.0 if eta <= 1e-6 or above(0.0) <= 0 else float(brentq(above, 0.0, eta, xtol=5e-4))
        high = most if above(most) <= 0 else float(brentq(above, eta, most, xtol=5e-4))
        return Estimate(eta, max(0.0, low - SYSTEMATIC), min(most, high + SYSTEMATIC))

    def misfit(self, point: FloatArray) -> float:
        """p-value of observed against expected agreement with the most likely label, in bins of equal size."""
        q, e = self.clean(point), point[0] / (self.K - 1)
        top = q.argmax(axis=1)
        expected = e + (1 - self.K * e) * q[np.arange(len(top)), top]
        bins = np.array_split(np.argsort(expected), _BINS)
        statistic = 0.0
        for rows in bins:
            p, agreed = float(expected[rows].mean()), float((self.y[rows] == top[rows]).sum())
            statistic += (agreed - len(rows) * p) ** 2 / max(len(rows) * p * (1 - p), 1e-9)
        return float(chi2.sf(statistic, _BINS - 2))

    def clean(self, point: FloatArray) -> FloatArray:
        """(n, K) probabilities of the true label."""
        beta = point[2:].reshape(self.values, self.K)
        clean: FloatArray = np.exp(log_softmax(point[1] * self.z + beta[self.a], axis=1))
        return clean

    def _loss(self, point: FloatArray) -> tuple[float, FloatArray]:
        n, K, e = len(self.y), self.K, point[0] / (self.K - 1)
        q, rows = self.clean(point), np.arange(len(self.y))
        own = q[rows, self.y]
        p = np.maximum(e + (1 - K * e) * own, 1e-12)
        pull = (1 - K * e) * own / p
        # d loss / d logits: pulled towards the observed label, less where it is likely to be wrong.
        slope = pull[:, None] * q
        slope[rows, self.y] -= pull
        beta = np.zeros((self.values, K))
        np.add.at(beta, self.a, slope)
        gradient = np.concatenate(
            [[-np.sum((1 - K * own) / p) / (K - 1), np.sum(slope * self.z)], beta.ravel()],
        )
        return float(-np.mean(np.log(p))), gradient / n
