"""The contract of a freezer: features in, an ordered basis out; it never sees a label or an attribute."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ftt.arrays import Float32Array, FloatArray, IntArray
from ftt.backbones.backbone import Backbone
from ftt.caching import Cache
from ftt.data.inputs import Inputs
from ftt.errors import FttError
from ftt.freeze.moments import Moments
from ftt.params import Configurable, Json, param


@dataclass(frozen=True)
class Projection:
    """The frozen map φ ↦ φ·weight + bias.

    Attributes
    ----------
    weight : (m, k) float32
        W_ul of Algorithm 1.
    bias : (k,) float32
        −mean·W_ul.
    explained : float
        Share of the variance of φ that the k directions keep.
    """

    weight: Float32Array
    bias: Float32Array
    explained: float

    def __call__(self, phi: Float32Array) -> Float32Array:
        """(n, k) frozen features of (n, m) features."""
        return phi @ self.weight + self.bias


@dataclass(frozen=True)
class Basis:
    """All directions a freezer found, best first; every p takes a prefix of it, so one fit serves all p.

    Attributes
    ----------
    weight : (m, m) float64
        One direction per column; stored in float32, the precision of a network.
    mean : (m,) float64
        Mean feature.
    variance : (m,) float64
        Variance of φ along each direction.
    total : float
        Total variance of φ.
    """

    weight: FloatArray
    mean: FloatArray
    variance: npt.NDArray[np.float64]
    total: float

    def first(self, k: int) -> Projection:
        """The projection on the first k directions, in single precision."""
        weight = np.ascontiguousarray(self.weight[:, :k], dtype=np.float32)
        # The rounded weights, but not rounded sums: a large mean would cost the digits of the features.
        bias = -self.mean.astype(np.float64) @ weight.astype(np.float64)
        return Projection(weight, bias.astype(np.float32), self.explained(k))

    def explained(self, k: int) -> float:
        """Share of the variance of φ along the first k directions."""
        return float(self.variance[:k].sum() / self.total) if self.total > 0 else 0.0

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "weight": self.weight.astype(np.float32),
            "mean": self.mean,
            "variance": self.variance,
            "total": np.array([self.total], dtype=np.float64),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> Basis:
        return cls(arrays["weight"], arrays["mean"], arrays["variance"], float(arrays["total"][0]))


def moments_of(batches: Iterable[FloatArray], m: int) -> Moments:
    """Mean and covariance of all batches."""
    moments = Moments(m)
    for batch in batches:
        moments.add(batch)
    return moments


def spanned(moments: Moments, directions: npt.NDArray[np.float64], mean: npt.NDArray[np.float64]) -> Basis:
    """The basis of given directions (m, m), one per column, with the variance of φ along each."""
    covariance = moments.covariance()
    return Basis(
        weight=directions,
        mean=mean,
        variance=np.einsum("ij,ik,kj->j", directions, covariance, directions, optimize=True),
        total=float(np.trace(covariance)),
    )


@dataclass(frozen=True)
class Freezer(Configurable, ABC):
    """The unsupervised stage; p·m of the m features are taken from it and never trained."""

    p: float = param(0.25, help="share of frozen features", low=0, high=1)

    def adapt(self, backbone: Backbone, inputs: Inputs, cache: Cache) -> Backbone:
        """The model whose features are frozen: the initial one, unless the freezer trains it without labels first."""
        return backbone

    def basis(self, batches: Iterable[FloatArray], m: int) -> Basis:
        """Fit on the features of the training split, batch by batch."""
        return self.basis_of(moments_of(batches, m))

    def basis_of(self, moments: Moments) -> Basis:
        """Fit on the moments of the features; freezers that are fitted on the same rows share them."""
        if not np.diagonal(moments.lower_covariance()).any():
            raise FttError(
                "no feature varies, so there is nothing to freeze",
                given=f"{moments.count} equal rows of {moments.dim} features",
                allowed="at least one feature that is not constant",
                hint="check the inputs and the backbone",
            )
        return self.find(moments)

    @abstractmethod
    def find(self, moments: Moments) -> Basis:
        """All directions, best first, of features with these moments."""

    def drawn(self, n: int) -> IntArray | None:
        """Indices of the rows (of n) to fit on, in order; None for all."""
        return None

    def frozen_dims(self, m: int) -> int:
        """p·m, rounded."""
        return round(self.p * m)

    def basis_identity(self) -> dict[str, Json]:
        """The parameters the basis depends on: all but p."""
        identity = self.identity()
        del identity["p"]
        return identity
