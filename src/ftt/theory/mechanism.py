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

from ftt.errors import FttError, unknown
from ftt.theory.assumptions import SPAN_TOLERANCE, Assumption, check_all
from ftt.theory.blas import single_thread
from ftt.theory.limits import NOISE, need_dimension, need_memory, need_number

Array = NDArray[np.float64]
Environment = Literal["train", "test"]
CoreLaw = Literal["gaussian", "rademacher", "uniform"]

UNIT_TOLERANCE = 1e-8
LARGEST_ENTRY = 1e100
"""Of Σ: squares of its entries stay representable."""


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
        The k for which β is claimed to lie in the top-k span of Σ; the smallest such k by default.

    Notes
    -----
    The constructor rejects only input for which the formulas are meaningless. The assumptions of the theorems are
    listed by `assumptions`, and each bound checks its own with `require`.

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
                "Sigma and beta have incompatible shapes",
                given=f"Sigma {self.Sigma.shape}, beta {self.beta.shape}",
                allowed="Sigma (d1, d1), beta (d1,)",
            )
        if self.gamma.ndim != 1 or self.gamma.size == 0:
            raise FttError("gamma must be a vector", given=f"shape {self.gamma.shape}", allowed="(d2,), d2 >= 1")
        need_dimension(self.d)
        for name in ("eta_core", "eta_spu"):
            need_number(name, getattr(self, name), *NOISE)
        for name in ("beta", "gamma"):
            norm = float(np.linalg.norm(getattr(self, name)))
            if not abs(norm - 1) <= UNIT_TOLERANCE:
                raise FttError(f"{name} must have unit length", given=f"norm {norm:.9g}", allowed="norm 1")
        largest = float(np.max(np.abs(self.Sigma)))
        if not largest <= LARGEST_ENTRY or np.max(np.abs(self.Sigma - self.Sigma.T)) > 1e-10 * largest:
            raise FttError(
                "Sigma must be a symmetric matrix of finite numbers",
                given=f"largest entry {largest:.3g}",
                allowed=f"entries up to {LARGEST_ENTRY:g}, Sigma = Sigma.T",
                hint="pass (Sigma + Sigma.T) / 2",
            )
        lowest, highest = float(self.eigenvalues[-1]), float(self.eigenvalues[0])
        if lowest <= d1 * np.finfo(float).eps * highest:
            raise FttError(
                "Sigma is not invertible in double precision",
                given=f"eigenvalues from {lowest:.3g} to {highest:.3g}",
                allowed="all positive",
            )
        if self.declared_k is not None:
            need_number("k", self.declared_k, 1, d1)

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
        tail: tuple[float, float] = (0.05, 0.8),
    ) -> Self:
        """A valid mechanism: random axes, β in the top-k span, eigenvalues in proportion to the noise.

        With the unit η_core² + η_spu², the first k eigenvalues of Σ run from 4 down to 2 units, so that λ_k exceeds the
        noise as the proof of Theorem 3 requires, and the others lie in the range `tail` (low, high), in units.

        Examples
        --------
        >>> mechanism = Mechanism.random(np.random.default_rng(0), d1=5, d2=3, k=2, eta_core=1.0, eta_spu=0.5)
        >>> mechanism.d, mechanism.k
        (8, 2)
        """
        need_dimension(d1 + d2)
        need_number("d2", d2, 1, np.inf)
        need_number("k", k, 1, d1)
        for name, eta in (("eta_core", eta_core), ("eta_spu", eta_spu)):
            need_number(name, eta, *NOISE)
        unit = eta_core**2 + eta_spu**2
        Q = np.linalg.qr(rng.standard_normal((d1, d1)))[0]
        lam = unit * np.concatenate([np.linspace(4.0, 2.0, k), np.geomspace(tail[1], tail[0], d1 - k)])
        # Coefficients bounded away from zero: k stays the smallest number of eigenvectors that reach β.
        weights = rng.uniform(0.5, 1.0, k) * rng.choice([-1.0, 1.0], k)
        gamma = rng.standard_normal(d2)
        Sigma = (Q * lam) @ Q.T
        beta = Q[:, :k] @ (weights / np.linalg.norm(weights))
        return cls((Sigma + Sigma.T) / 2, beta, gamma / np.linalg.norm(gamma), eta_core, eta_spu)

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

        Ratios of errors do not change, and the flow visits the same W, `factor`² times as fast.
        """
        need_number("factor", factor, 1e-12, 1e12)
        return replace(
            self, Sigma=factor**2 * self.Sigma, eta_core=factor * self.eta_core, eta_spu=factor * self.eta_spu
        )

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
        """The smallest k with β in span(Q_{:k}), as in the appendix; the declared k if that is smaller."""
        smallest = int(np.flatnonzero(np.abs(self.beta_coordinates) > SPAN_TOLERANCE)[-1]) + 1
        return smallest if self.declared_k is None else min(smallest, self.declared_k)

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """(D, Ξ): eigenvalues (d,) of H in descending order and its eigenvectors in columns (d, d)."""
        return _descending(self.H)

    def components(self, count: int) -> Array:
        """The first `count` principal components of x in training, shape (d, count)."""
        if not 0 <= count <= self.d:
            raise FttError("no such number of principal components", given=count, allowed=f"0 to {self.d}")
        return self.spectrum[1][:, :count]

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

    def assumptions(self) -> dict[str, Assumption]:
        """All assumptions on the mechanism by name, each with whether it holds and the numbers behind it."""
        return check_all(self.eigenvalues, self.beta_coordinates, self.k, self.eta_core, self.eta_spu)

    def require(self, *names: str, statement: str) -> None:
        """Raise an `FttError` naming the first of these assumptions of a statement that fails."""
        known = self.assumptions()
        for name in names:
            if not known[name].holds:
                raise FttError(
                    f"{statement} does not apply because an assumption fails: {known[name].text}",
                    given=known[name].detail,
                    allowed=known[name].text,
                )

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
            raise unknown("environment", environment, ["train", "test"])
        need_number("n", n, 0, np.inf)
        need_memory("the sample", n, self.d)
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
    raise unknown("law of the core features", law, ["gaussian", "rademacher", "uniform"])


def _descending(matrix: Array) -> tuple[Array, Array]:
    with single_thread():
        values, vectors = np.linalg.eigh(matrix)
    return values[::-1].copy(), np.ascontiguousarray(vectors[:, ::-1])
