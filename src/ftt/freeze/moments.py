"""First and second moments of features in one pass: memory of the order d², whatever the number of rows.

Rows are gathered into blocks, so that the way they arrive in batches does not show in the result. Each block is
shifted by one fixed vector near the mean (so that a large offset costs no digits), squared (half the work of a
product), and summed, all in float64. Directions with singular values of 1e-4 of the largest have variances of 1e-8 of
the largest, which squares in float32 would lose. BLAS squares, or a kernel of our own where BLAS runs at half the
processor's speed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import dsyrk

from ftt import processor, threads
from ftt.compiled import squares
from ftt.errors import FttError

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_BLOCK = 2**22
"""Numbers in one block: large enough for BLAS to run at full speed, 32 MB."""


class Moments:
    """Count, mean and scatter of rows seen so far.

    Parameters
    ----------
    dim : int
        Number of features d.

    Examples
    --------
    >>> seen = Moments(2)
    >>> seen.add(np.array([[0.0, 1.0], [2.0, 5.0]]))
    >>> seen.count, seen.mean.tolist(), seen.covariance().tolist()
    (2, [1.0, 3.0], [[2.0, 4.0], [4.0, 8.0]])
    """

    def __init__(self, dim: int) -> None:
        if dim < 1:
            raise FttError("moments need at least one feature", given=dim, allowed="dim >= 1")
        self.dim = dim
        self._rows = max(1, _BLOCK // dim)
        self._waiting: Matrix = np.empty((0, dim))
        self._filled = 0
        self._summed = 0
        self._shift: Vector | None = None
        self._total: Vector = np.zeros(dim)
        # Only the lower triangle is kept up and read; column-major is what BLAS adds to without a copy.
        self._scatter: Matrix = np.zeros((dim, dim), order="F")

    @property
    def count(self) -> int:
        """Rows seen."""
        return self._summed + self._filled

    @property
    def mean(self) -> Vector:
        """Mean of the rows, (d,)."""
        self._flush()
        return self._origin() + self._total / max(self._summed, 1)

    def add(self, batch: ArrayLike) -> None:
        """Add a batch of rows.

        Parameters
        ----------
        batch : array (n, d)
            Of any real type. Rows with NaN or infinity are refused by number; rows before them in the batch may have
            been added.
        """
        rows = np.asarray(batch)
        if rows.ndim != 2 or rows.shape[1] != self.dim:
            raise FttError("batch has the wrong shape", given=rows.shape, allowed=f"(n, {self.dim})")
        if not (np.issubdtype(rows.dtype, np.number) and np.isrealobj(rows)) and rows.dtype != np.bool_:
            raise FttError("features must be real numbers", given=rows.dtype, allowed="float32, float64")
        self._make_room(len(rows))
        start = 0
        while start < len(rows):
            taken = rows[start : start + self._rows - self._filled]
            place = self._waiting[self._filled : self._filled + len(taken)]
            np.copyto(place, taken)
            _check_finite(place, start)
            self._filled += len(taken)
            start += len(taken)
            if self._filled == self._rows:
                self._flush()

    def merge(self, other: Moments) -> Moments:
        """The moments of both together; neither is changed. Exact up to rounding, in any order and grouping."""
        if other.dim != self.dim:
            raise FttError("moments of different widths cannot be merged", given=other.dim, allowed=self.dim)
        if 0 in (self.count, other.count):
            return Moments.from_arrays((self if self.count else other).to_arrays())
        self._flush()
        other._flush()
        count, part = self.count + other.count, other.count / (self.count + other.count)
        # Means are compared shift by shift and rest by rest: as plain sums they would lose the digits of the rest.
        own, theirs = self._total / self.count, other._total / other.count
        apart = (other._origin() - self._origin()) + (theirs - own)
        scatter = self._centred_lower() + other._centred_lower()
        scatter += np.outer(apart, apart * (self.count * part))
        shift = self._origin() + (own + apart * part)
        rest = (self._origin() - shift) + (own + apart * part)
        scatter += np.outer(rest, rest * count)
        return Moments.from_arrays(
            {"count": np.array(count), "shift": shift, "total": rest * count, "scatter": scatter}
        )

    def covariance(self) -> Matrix:
        """Sample covariance, (d, d), divided by count − 1 as in scikit-learn and `numpy.cov`."""
        lower = self.lower_covariance()
        covariance = np.tril(lower)
        covariance += np.tril(lower, -1).T
        return covariance

    def lower_covariance(self) -> Matrix:
        """The covariance in its lower triangle only, column-major: as LAPACK reads it. Ignore the rest."""
        if self.count < 2:
            raise FttError("a covariance needs at least two rows", given=f"{self.count} rows", allowed="two or more")
        self._flush()
        covariance = self._centred_lower()
        covariance /= self._summed - 1
        return covariance

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as plain arrays, to be stored or sent.

        `count`, `shift` (d,), and about that shift `total` (d,) and the lower triangle of `scatter` (d, d).
        """
        self._flush()
        return {
            "count": np.array(self.count),
            "shift": self._origin().copy(),
            "total": self._total.copy(),
            "scatter": np.tril(self._scatter),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Rebuild what `to_arrays` gave."""
        if missing := {"count", "shift", "total", "scatter"} - arrays.keys():
            raise FttError("stored moments are incomplete", given=sorted(arrays), hint=f"missing {sorted(missing)}")
        shift, total, scatter = (np.array(arrays[name], dtype=np.float64) for name in ("shift", "total", "scatter"))
        d = len(shift) if shift.ndim == 1 else -1
        if total.shape != (d,) or scatter.shape != (d, d):
            shapes = f"shift {shift.shape}, total {total.shape}, scatter {scatter.shape}"
            raise FttError("stored moments have inconsistent shapes", given=shapes, allowed="(d,), (d,), (d, d)")
        moments = cls(d)
        moments._summed = int(arrays["count"])
        moments._shift = shift if moments._summed else None
        moments._total, moments._scatter = total, np.asfortranarray(scatter)
        return moments

    def _origin(self) -> Vector:
        return np.zeros(self.dim) if self._shift is None else self._shift

    def _make_room(self, coming: int) -> None:
        """A buffer of at least the size these rows need, up to one block."""
        wanted = min(self._rows, self._filled + coming)
        if len(self._waiting) < wanted:
            grown = np.empty((min(self._rows, max(wanted, 2 * len(self._waiting))), self.dim))
            grown[: self._filled] = self._waiting[: self._filled]
            self._waiting = grown

    def _flush(self) -> None:
        """Add the squares of the buffered rows and empty the buffer."""
        if not self._filled:
            return
        rows = self._waiting[: self._filled]
        if self._shift is None:
            with np.errstate(over="ignore"):
                near = rows.mean(axis=0)
            self._shift = np.where(np.isfinite(near), near, 0)
        rows -= self._shift
        self._total += rows.sum(axis=0)
        if processor.outruns_blas() and squares.usable(rows):
            squares.add_squares(self._scatter, rows, threads.of_blas())
        else:
            self._scatter = dsyrk(1.0, rows.T, beta=1.0, c=self._scatter, lower=1, overwrite_c=1)
        self._summed += self._filled
        self._filled = 0

    def _centred_lower(self) -> Matrix:
        """Σ (x − mean)(x − mean)ᵀ in its lower triangle."""
        return self._scatter - np.outer(self._total, self._total / self._summed)


def _check_finite(rows: NDArray[Any], start: int) -> None:
    # One pass: a sum is finite only if every entry is; if it overflowed, the entries are checked one by one.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(rows.sum()):
            return
    bad = start + np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if not len(bad):
        return
    raise FttError(
        "features contain NaN or infinity",
        given=f"{len(bad)} rows, the first is row {bad[0]} of the batch",
        allowed="finite values",
        hint="check the input of that row and the precision of the backbone",
    )
