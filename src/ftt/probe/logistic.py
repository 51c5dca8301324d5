"""Many L2 logistic regressions over subsets of the same rows, solved together."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from ftt.probe.problems import BoolArray, Fits, FloatArray, IntArray
from ftt.probe.reference import fit_one_by_one

__all__ = ["BoolArray", "Fits", "FloatArray", "IntArray", "fit_many"]


def fit_many(
    X: ArrayLike,
    y: ArrayLike,
    rows: Sequence[ArrayLike],
    C: Sequence[float] | ArrayLike,
    *,
    n_classes: int | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> Fits:
    """Solve J logistic regressions.

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
        Classes 0 … K−1.
    rows : sequence of J index arrays
        The rows of each problem; a row listed twice weighs twice.
    C : sequence of J floats
        Inverse strength of the L2 penalty, as in scikit-learn.
    n_classes : int, optional
        K; by default one more than the largest label in use.
    tol : float
        Bound on the largest entry of the gradient of the mean objective.
    max_iter : int

    Returns
    -------
    Fits
    """
    return fit_one_by_one(X, y, rows, C, n_classes=n_classes, tol=tol, max_iter=max_iter)
