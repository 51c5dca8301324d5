"""The data generation mechanism of the paper's Section 3.1, with every population quantity in closed form.

    x₁ ~ P,  y = x₁β + ε_core,  x₂ = yγᵀ + ε_spu in training,  x₂ = ε_spu at test time,  x = (x₁, x₂).

Rows are examples, as in the paper. Subscript 1 is core, 2 is spurious; η₁ = η_core, η₂ = η_spu.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftt.errors import FttError
from ftt.theory.assumptions import SPAN_TOLERANCE, Assumption, check_all
from ftt.theory.pools import single_thread

Array = NDArray[np.float64]
Environment = Literal["train", "test"]
CoreLaw = Literal["gaussian", "rademacher", "uniform"]

UNIT_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class Mechanism:
    """One data generation mechanism (Section 3.1).

    Parameters
    ----------
    Sigma : array (d1, d1)
        Covariance Σ of the core features, symmetric and positive definite.
    beta : array (d1,)
        Unit coefficients of y on the core features.
    gamma : array (d2,)
        Unit coefficients of the spurious features on y, in training only.
    eta_core, eta_spu : float
        Standard deviations of the two non-realizable noises, both positive.
    declared_k : int, optional
        The k for which β is claimed to lie in the top-k span of Σ; without it the smallest k that is true.

    Notes
    -----
    Only what makes the formulas meaningless is refused here. The assumptions of the theorems are in `assumptions`
    and are asked for by each bound with `require`.

    Examples
    --------
    >>> toy = Mechanism([[2.0]], [1.0], [1.0], eta_core=0.5, eta_spu=1.0)
    >>> toy.alpha, toy.err_te, toy.err_tr
    (0.8, 0.125, 0.1)
    """

    Sigma: Array
    beta: Array
    gamma: Array
    eta_core: float
    eta_spu: float
    declared_k: int | None

    def __init__(
        self,
        Sigma: ArrayLike,
        beta: ArrayLike,
        gamma: ArrayLike,
        eta_core: float,
        eta_spu: float,
        declared_k: int | None = None,
    ) -> None:
        for name, value in (("Sigma", Sigma), ("beta", beta), ("gamma", gamma)):
            object.__setattr__(self, name, np.array(value, dtype=np.float64))
        object.__setattr__(self, "eta_core", float(eta_core))
        object.__setattr__(self, "eta_spu", float(eta_spu))
        object.__setattr__(self, "declared_k", declared_k)
        self._validate()

    def _validate(self) -> None:
        d1 = self.beta.size
        if self.beta.ndim != 1 or self.Sigma.shape != (d1, d1):
            raise FttError(
                "Sigma and beta do not fit together",
                given=f"Sigma {self.Sigma.shape}, beta {self.beta.shape}",
                allowed="Sigma (d1, d1), beta (d1,)",
            )
        if self.gamma.ndim != 1 or self.gamma.size == 0:
            raise FttError("gamma is not a vector", given=self.gamma.shape, allowed="(d2,), d2 >= 1")
        for name in ("eta_core", "eta_spu"):
            if not 0 < getattr(self, name) < np.inf:
                raise FttError(f"{name} is not a positive number", given=getattr(self, name), allowed=f"0 < {name}")
        for name in ("beta", "gamma"):
            norm = float(np.linalg.norm(getattr(self, name)))
            if not abs(norm - 1) <= UNIT_TOLERANCE:
                raise FttError(f"{name} is not of unit length", given=f"norm {norm:.9g}", allowed="norm 1")
        largest = float(np.max(np.abs(self.Sigma)))
        if not np.isfinite(largest) or np.max(np.abs(self.Sigma - self.Sigma.T)) > 1e-10 * largest:
            raise FttError("Sigma is not a symmetric matrix of finite numbers", hint="pass (Sigma + Sigma.T) / 2")
        lowest, highest = float(self.eigenvalues[-1]), float(self.eigenvalues[0])
        if lowest <= d1 * np.finfo(float).eps * highest:
            raise FttError(
                "Sigma is not invertible in double precision",
                given=f"eigenvalues from {lowest:.3g} to {highest:.3g}",
                allowed="all positive",
            )
        if self.declared_k is not None and not 1 <= self.declared_k <= d1:
            raise FttError("k is outside its range", given=self.declared_k, allowed=f"1 <= k <= d1 = {d1}")

    @classmethod
    def random(
        cls,
        rng: np.random.Generator,
        *,
        d1: int,
        d2: int,
        k: int,
        eta_core: float,
        eta_spu: float,
        top: tuple[float, float] = (2.0, 4.0),
        tail: tuple[float, float] = (0.05, 0.8),
        floor: float | None = None,
    ) -> Self:
        """A valid mechanism: random axes, β in the top-k span, eigenvalues set against the noise.

        Parameters
        ----------
        top, tail : (low, high)
            Ranges of the first k and of the other eigenvalues of Σ, in units of `floor`.
        floor : float, optional
            The unit; η_core² + η_spu² unless given, so that λ_k clears the noise as the proof of Theorem 3 asks.
        """
        if not 1 <= k <= d1:
            raise FttError("k is outside its range", given=k, allowed=f"1 <= k <= d1 = {d1}")
        unit = eta_core**2 + eta_spu**2 if floor is None else floor
        Q = np.linalg.qr(rng.standard_normal((d1, d1)))[0]
        lam = unit * np.concatenate([np.linspace(top[1], top[0], k), np.geomspace(tail[1], tail[0], d1 - k)])
        # Coefficients bounded away from zero: k stays the smallest number of eigenvectors that reach β.
        weights = rng.uniform(0.5, 1.0, k) * rng.choice([-1.0, 1.0], k)
        gamma = rng.standard_normal(d2)
        Sigma = (Q * lam) @ Q.T
        return cls(
            (Sigma + Sigma.T) / 2,
            Q[:, :k] @ (weights / np.linalg.norm(weights)),
            gamma / np.linalg.norm(gamma),
            eta_core,
            eta_spu,
        )

    def with_noise(self, *, eta_core: float | None = None, eta_spu: float | None = None) -> Self:
        """The same mechanism with other noises."""
        made = copy(self)
        for name in ("spectrum", "H", "xy"):  # what depends on the noise; the spectrum of Σ is kept
            made.__dict__.pop(name, None)
        object.__setattr__(made, "eta_core", float(self.eta_core if eta_core is None else eta_core))
        object.__setattr__(made, "eta_spu", float(self.eta_spu if eta_spu is None else eta_spu))
        made._validate()
        return made

    def rescaled(self, factor: float) -> Self:
        """The same data in other units: x and y multiplied by `factor`.

        Every ratio of errors stays what it is, and the flow visits the same W, only `factor`² times as fast.
        """
        return replace(
            self, Sigma=factor**2 * self.Sigma, eta_core=factor * self.eta_core, eta_spu=factor * self.eta_spu
        )

    # -- shapes and spectra ------------------------------------------------------------------------------------

    @property
    def d1(self) -> int:
        return self.beta.size

    @property
    def d2(self) -> int:
        return self.gamma.size

    @property
    def d(self) -> int:
        return self.d1 + self.d2

    @cached_property
    def _sigma_spectrum(self) -> tuple[Array, Array]:
        return _descending(self.Sigma)

    @property
    def eigenvalues(self) -> Array:
        """λ₁ ≥ … ≥ λ_{d1} of Σ, shape (d1,)."""
        return self._sigma_spectrum[0]

    @property
    def Q(self) -> Array:  # noqa: N802
        """Eigenvectors of Σ in columns, in the order of `eigenvalues`, shape (d1, d1)."""
        return self._sigma_spectrum[1]

    @cached_property
    def beta_coordinates(self) -> Array:
        """Coefficients b_τ = q_τᵀβ of the proof of the span lemma, shape (d1,)."""
        return np.asarray(self.Q.T @ self.beta)

    @cached_property
    def k(self) -> int:
        """The smallest k with β in span(Q_{:k}), as the appendix fixes it, or the declared k where that is false."""
        smallest = int(np.flatnonzero(np.abs(self.beta_coordinates) > SPAN_TOLERANCE)[-1]) + 1
        return smallest if self.declared_k is None else min(smallest, self.declared_k)

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """(D, Ξ): eigenvalues (d,) of H in descending order and its eigenvectors in columns (d, d)."""
        return _descending(self.H)

    # -- population quantities ---------------------------------------------------------------------------------

    @property
    def g(self) -> float:
        """g = βᵀΣβ, the variance of x₁ along β."""
        return float(self.beta @ self.Sigma @ self.beta)

    @cached_property
    def H(self) -> Array:  # noqa: N802
        """H = E[xᵀx] in the training environment, shape (d, d) (first display of the proof appendix)."""
        Sb = self.Sigma @ self.beta
        lower = self.eta_spu**2 * np.eye(self.d2)
        lower += (self.eta_core**2 + self.g) * np.outer(self.gamma, self.gamma)
        return np.block([[self.Sigma, np.outer(Sb, self.gamma)], [np.outer(self.gamma, Sb), lower]])

    @cached_property
    def xy(self) -> Array:
        """E[xᵀy] in the training environment, shape (d,)."""
        return np.concatenate([self.Sigma @ self.beta, (self.g + self.eta_core**2) * self.gamma])

    @property
    def alpha(self) -> float:
        """α = η_spu² / (η_core² + η_spu²) (Lemma 1)."""
        return self.eta_spu**2 / (self.eta_core**2 + self.eta_spu**2)

    @property
    def v_tr(self) -> Array:
        """v*_tr = (αβ, (1−α)γ), the optimum in training (Lemma 1), shape (d,)."""
        return np.concatenate([self.alpha * self.beta, (1 - self.alpha) * self.gamma])

    @property
    def v_te(self) -> Array:
        """(β, 0), the optimum at test time, shape (d,)."""
        return np.concatenate([self.beta, np.zeros(self.d2)])

    @property
    def err_tr(self) -> float:
        """err*_tr = η_core² η_spu² / (2(η_core² + η_spu²)) (Lemma 1)."""
        return self.eta_core**2 * self.alpha / 2

    @property
    def err_te(self) -> float:
        """err*_te = η_core² / 2."""
        return self.eta_core**2 / 2

    # -- assumptions -------------------------------------------------------------------------------------------

    def assumptions(self) -> dict[str, Assumption]:
        """Every assumption on the mechanism by name, each with whether it holds and the numbers behind it."""
        return check_all(self.eigenvalues, self.beta_coordinates, self.k, self.eta_core, self.eta_spu)

    def require(self, *names: str, statement: str) -> None:
        """Raise an `FttError` that says which of the named assumptions of a statement fails."""
        known = self.assumptions()
        for name in names:
            if not known[name].holds:
                raise FttError(
                    f"{statement} does not apply: {known[name].text} fails",
                    given=known[name].detail,
                    allowed=known[name].text,
                )

    # -- samples -----------------------------------------------------------------------------------------------

    def sample(
        self, n: int, rng: np.random.Generator, *, environment: Environment = "train", law: CoreLaw = "gaussian"
    ) -> tuple[Array, Array]:
        """Draw n examples.

        Parameters
        ----------
        n : int
            Number of examples.
        rng : numpy Generator
            Source of randomness.
        environment : {"train", "test"}
            E_tr, where x₂ follows y, or E_te, where it is noise alone.
        law : {"gaussian", "rademacher", "uniform"}
            Distribution P of the whitened core features; the theory depends on P through Σ only.

        Returns
        -------
        X : array (n, d)
        y : array (n,)
        """
        if environment not in ("train", "test"):
            raise FttError("there is no such environment", given=environment, allowed="train, test")
        z = _white(law, (n, self.d1), rng)
        x1 = (z * np.sqrt(self.eigenvalues)) @ self.Q.T
        y = x1 @ self.beta + self.eta_core * rng.standard_normal(n)
        x2 = self.eta_spu * rng.standard_normal((n, self.d2))
        if environment == "train":
            x2 += np.outer(y, self.gamma)
        return np.concatenate([x1, x2], axis=1), y


def _white(law: CoreLaw, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    if law == "gaussian":
        return rng.standard_normal(shape)
    if law == "rademacher":
        return rng.choice(np.array([-1.0, 1.0]), shape)
    if law == "uniform":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), shape)
    raise FttError("there is no such law of the core features", given=law, allowed="gaussian, rademacher, uniform")


def _descending(matrix: Array) -> tuple[Array, Array]:
    with single_thread():
        values, vectors = np.linalg.eigh(matrix)
    return values[::-1].copy(), np.ascontiguousarray(vectors[:, ::-1])
