"""What every fit on the same features can share: found once, whichever rows and labels the fits use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ftt.arrays import FloatArray
from ftt.probe.precondition import Spectrum, leading_spectrum, worthwhile

TOO_COARSE = 1.0
"""Rounding of the gradient, from which on single precision is skipped: the features are too large for it."""

_FAR = 4.0
"""Largest mean, in units of the largest standard deviation, up to which features are used as they were given. Beyond it
rounding of the mean would drown what varies, and a copy without the mean is made."""


@dataclass(frozen=True)
class Survey:
    """Features as single precision sees them.

    Attributes
    ----------
    mean : array (d,)
        A vector near the mean, in float64, that the features' own precision can hold.
    reach : float
        The gradient below which single precision is noise.
    single_rows : array (n, d), float32
        The features, without that mean if `centred`; empty where single precision is of no use.
    centred : bool
    spectrum : Spectrum or None
        Leading directions, None where single precision is of no use. They affect the speed of convergence, not the
        solution.
    """

    mean: FloatArray
    reach: float
    single_rows: FloatArray
    centred: bool
    spectrum: Spectrum | None

    @property
    def single(self) -> bool:
        """Whether single precision is of use."""
        return self.spectrum is not None


def survey(X: FloatArray) -> Survey:
    """Survey finite features.

    Parameters
    ----------
    X : array (n, d)
    """
    # A product is fast, and precision does not matter here.
    mean: FloatArray = np.full(len(X), 1 / len(X), dtype=X.dtype) @ X
    squares = _squares(X) / len(X)
    reach = float(32 * np.finfo(np.float32).eps * np.sqrt(squares.max()))
    if reach > TOO_COARSE:
        return Survey(mean.astype(np.float64), reach, np.empty((0, X.shape[1]), dtype=np.float32), True, None)
    squared_mean = mean.astype(np.float64) ** 2
    near = bool(squared_mean.max() <= _FAR**2 * (squares - squared_mean).max())
    as_given = near and X.dtype == np.float32 and X.flags.c_contiguous
    rows: FloatArray = X if as_given else (X - mean).astype(np.float32, copy=False)
    spectrum = leading_spectrum(rows, worthwhile(*X.shape))
    return Survey(mean.astype(np.float64), reach, rows, not as_given, spectrum)


def _squares(X: FloatArray) -> FloatArray:
    """Sums of the squared columns, (d,), a block at a time that stays in the cache."""
    sums = np.zeros(X.shape[1])
    with np.errstate(over="ignore"):
        for start in range(0, len(X), 256):
            block = X[start : start + 256]
            sums += np.ones(len(block), dtype=X.dtype) @ (block * block)
    return sums
