"""The way out for few, badly scaled features: scikit-learn's Newton steps with the whole Hessian.

A descent that only knows the leading directions of the features creeps where their scales differ by many orders of
magnitude. With a few thousand weights the Hessian can be factorised, and then scales do not matter.
"""

from __future__ import annotations

import warnings

import numpy as np

from ftt.arrays import FloatArray, IntArray
from ftt.probe.problems import Problems

MOST_WEIGHTS = 4096
"""Weights of one problem beyond which its Hessian is too large to be factorised."""


def patience(problems: Problems) -> int | None:
    """Iterations of a descent that cost less than Newton's method would; None where that is no way out."""
    width = problems.outputs * (problems.X.shape[1] + 1)
    return min(400, max(100, width // 4)) if width <= MOST_WEIGHTS else None


def newton(problems: Problems, j: int, tol: float, max_iter: int) -> tuple[FloatArray, FloatArray, int]:
    """Weights (K', d), intercepts (K',) and iterations for problem j, in double precision."""
    from sklearn.linear_model import LogisticRegression

    rows: IntArray = problems.rows[j]
    model = LogisticRegression(C=float(problems.C[j]), tol=tol, max_iter=max_iter, solver="newton-cholesky")
    with warnings.catch_warnings():
        # Whoever asked judges the solution by its gradient.
        warnings.simplefilter("ignore")
        model.fit(problems.X[rows].astype(np.float64), problems.y[rows])
    return model.coef_, model.intercept_, int(np.max(model.n_iter_))
