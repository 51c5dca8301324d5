"""Logistic regressions solved one by one with scikit-learn: the reference for the fast solver, and the way to L1.

This is the loop a careful user would write. It supports penalties and class weights that the fast solver does not.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ftt.errors import FttError
from ftt.probe.problems import Fits, check_problems, mean_gradient

Penalty = Literal["l1", "l2"]
ClassWeight = Literal["balanced"] | Mapping[int, float] | None


def fit_one_by_one(
    X: ArrayLike,
    y: ArrayLike,
    rows: Sequence[ArrayLike],
    C: Sequence[float] | ArrayLike,
    *,
    n_classes: int | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    penalty: Penalty = "l2",
    class_weight: ClassWeight = None,
) -> Fits:
    """Solve each problem with scikit-learn's LogisticRegression.

    Parameters
    ----------
    X, y, rows, C, n_classes, tol, max_iter
        As in `ftt.probe.logistic.fit_many`.
    penalty : {"l2", "l1"}
        L1 goes through liblinear for two classes (which also penalises the intercept, as in DFR's own
        protocol) and through saga for more.
    class_weight : "balanced" or mapping, optional
        As in scikit-learn.

    Returns
    -------
    Fits
        Where penalty or weights differ from the plain objective `gradient` is NaN, and `converged` is
        what scikit-learn reports.
    """
    from sklearn.exceptions import ConvergenceWarning

    if penalty not in ("l1", "l2"):
        raise FttError("invalid penalty", given=repr(penalty), allowed="l1, l2")
    problems = check_problems(X, y, rows, C, n_classes)
    J, d, plain = len(problems.rows), problems.X.shape[1], penalty == "l2" and class_weight is None
    coef, intercept = np.zeros((J, problems.outputs, d)), np.zeros((J, problems.outputs))
    gradient, converged, iterations = np.full(J, np.nan), np.zeros(J, dtype=bool), np.zeros(J, dtype=np.int64)
    for j, subset in enumerate(problems.rows):
        model = _estimator(float(problems.C[j]), problems.n_classes, tol, max_iter, penalty, class_weight)
        with warnings.catch_warnings():
            # The caller learns of it from `converged`, with the number of the problem.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(problems.X[subset], problems.y[subset])
        coef[j], intercept[j], iterations[j] = model.coef_, model.intercept_, np.max(model.n_iter_)
        if plain:
            gradient[j] = mean_gradient(problems, j, coef[j], intercept[j])
            converged[j] = gradient[j] <= tol
        else:
            converged[j] = iterations[j] < max_iter
    return Fits(coef, intercept, gradient, converged, iterations)


def _estimator(C: float, n_classes: int, tol: float, max_iter: int, penalty: Penalty, class_weight: ClassWeight) -> Any:
    from sklearn.linear_model import LogisticRegression

    if penalty == "l2":
        return LogisticRegression(C=C, tol=tol, max_iter=max_iter, class_weight=class_weight)
    solver = "liblinear" if n_classes == 2 else "saga"
    # Both solvers visit rows in random order; the seed makes a fit a function of its data.
    return LogisticRegression(
        C=C, tol=tol, max_iter=max_iter, class_weight=class_weight, l1_ratio=1.0, solver=solver, random_state=0
    )
