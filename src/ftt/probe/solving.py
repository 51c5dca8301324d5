"""A probe's features as its solver sees them: scaled, and with what several calls can share found once."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ftt.arrays import FloatArray, IntArray
from ftt.probe.blocks import Ratios, spreads
from ftt.probe.logistic import Fits, fit_many
from ftt.probe.problems import check_finite, check_varies
from ftt.probe.protocol import Solve
from ftt.probe.reference import fit_one_by_one
from ftt.probe.survey import survey


class NotConvergedWarning(UserWarning):
    """Some logistic regressions stopped before their gradient was small enough."""


class ScaledFeatures:
    """Features that can be scaled by the ratios of their blocks.

    Parameters
    ----------
    X : (n, d) array
    y : (n,) array
        Codes from 0 on.
    members : (d,) array or None
        The block of each column; None leaves all columns as they are.
    scale : bool
        Whether every column is brought to unit variance first, and with an L1 penalty to a mean of zero.
    penalty : {"l2", "l1"}
    settings
        `n_classes`, `tol` and `max_iter` of the solver.
    """

    def __init__(
        self, X: FloatArray, y: IntArray, members: IntArray | None, *, scale: bool, penalty: str, **settings: Any
    ) -> None:
        if scale:
            check_finite(X, np.arange(len(X)))
        spread = X.std(axis=0) if scale else np.ones(X.shape[1], dtype=X.dtype)
        self.spread = np.where(spread > 0, spread, 1).astype(X.dtype)
        # liblinear penalises the intercept too, so that where zero is matters: DFR's authors put it at the mean.
        centred = scale and penalty == "l1"
        self.centre: FloatArray = X.mean(axis=0) if centred else np.zeros(X.shape[1], dtype=X.dtype)
        self.X = (X - self.centre if centred else X) / self.spread if scale else X
        self.y, self.members, self.penalty, self.settings = y, members, penalty, settings
        self.block_spread = None if members is None else spreads(self.X, members)
        self._last: tuple[Ratios, FloatArray, Solve] | None = None

    def divisors(self, ratios: Ratios) -> FloatArray:
        """What each column as it came is divided by, (d,); infinite where a ratio is 0."""
        if self.block_spread is None:
            return self.spread
        with np.errstate(divide="ignore"):
            found: FloatArray = self.spread * (self.block_spread / np.array(ratios))[self.members]
        return found

    def at(self, ratios: Ratios) -> tuple[FloatArray, Solve]:
        """The features at these ratios, and the solver on them; the last ones are kept."""
        if self._last is None or self._last[0] != ratios:
            X = self.X
            if self.block_spread is not None:
                X = X * (np.array(ratios) / self.block_spread)[self.members].astype(X.dtype)
            self._last = (ratios, X, self._solver(X))
        return self._last[1:]

    def _solver(self, X: FloatArray) -> Solve:
        if self.penalty == "l2":
            check_finite(X, np.arange(len(X)))
            check_varies(X)
        shared = survey(X) if self.penalty == "l2" else None

        def solve(rows: list[IntArray], C: list[float], start: FloatArray | None) -> Fits:
            if self.penalty == "l2":
                fits = fit_many(X, self.y, rows, C, start=start, shared=shared, **self.settings)
            else:
                fits = fit_one_by_one(X, self.y, rows, C, penalty="l1", **self.settings)
            if not fits.converged.all():
                late = sorted({C[j] for j in np.flatnonzero(~fits.converged)})
                warnings.warn(
                    f"{int((~fits.converged).sum())} of {len(C)} logistic regressions did not converge "
                    f"(C = {', '.join(f'{c:g}' for c in late)}; "
                    f"largest gradient {np.nanmax(fits.gradient, initial=0):.1e})",
                    NotConvergedWarning,
                    stacklevel=5,
                )
            return fits

        return solve
