"""Many L2 logistic regressions over subsets of the same rows, solved together.

The probing protocol asks for dozens of fits (every C, every balanced sub-sample) over one feature matrix. Here they
descend in step (`ftt.probe.lbfgs`), in single precision as far as that carries, then in double; every solution is
judged by its gradient in double precision on the features as they were given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ftt.arrays import FloatArray, IntArray
from ftt.errors import FttError
from ftt.probe.lbfgs import Descent, Table, probabilities
from ftt.probe.precondition import Spectrum, leading_spectrum, worthwhile
from ftt.probe.problems import Fits, Problems, check_problems
from ftt.threads import limited_to

__all__ = ["Fits", "fit_many", "survey"]

_BUDGET = 256 * 2**20
"""Bytes the arrays of one batch of problems may take; more problems are solved in several batches."""

_WORTH_THREADS = 2e9
"""Operations in one matrix product below which several threads cost more than they bring."""

_MARGIN = 0.9
"""Problems stop a little below the tolerance, so that the gradient in double precision is below it too."""

_TOO_COARSE = 1.0
"""Rounding of the gradient, from which on single precision is skipped: the features are too large for it."""

_PATIENCE = 30
"""Iterations in single precision without a smaller gradient before double precision takes over."""


def fit_many(
    X: ArrayLike,
    y: ArrayLike,
    rows: Sequence[ArrayLike],
    C: Sequence[float] | ArrayLike,
    *,
    n_classes: int | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    spectrum: Spectrum | None = None,
) -> Fits:
    """Solve J logistic regressions.

    Parameters
    ----------
    X : array (n, d)
        Finite features, of which at least one varies; constant ones get a weight of zero.
    y : array (n,)
        Classes 0 … K−1; two are binary, more are a softmax, as in scikit-learn.
    rows : sequence of J index arrays
        The rows of each problem; a row listed twice weighs twice. Rows that no problem lists are never read.
    C : sequence of J floats
        Inverse strength of the L2 penalty, as in scikit-learn.
    n_classes : int, optional
        K; by default one more than the largest label in use.
    tol : float
        Bound on the largest entry of the gradient of the mean objective (scikit-learn's own criterion).
    max_iter : int
        Iterations of L-BFGS, both precisions together.
    spectrum : Spectrum, optional
        Result of `survey`, shared by several calls on the same features; by default it is computed from the rows in
        use. It affects the speed of convergence, not the solution.

    Returns
    -------
    Fits
        Problems that did not reach `tol` are marked in `converged`.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> fits = fit_many(X, np.array([0, 0, 1, 1]), [np.arange(4), np.array([0, 3])], [1.0, 0.1])
    >>> fits.coef.shape, bool(fits.converged.all())
    ((2, 1, 1), True)
    """
    problems = check_problems(X, y, rows, C, n_classes)
    if not (tol > 0 and max_iter > 0):
        raise FttError(
            "tol and max_iter must be positive", given=f"tol={tol}, max_iter={max_iter}", allowed="values above 0"
        )
    with limited_to(1) if _is_small(problems) else nullcontext():
        return _fit(problems, tol, max_iter, spectrum)


def _is_small(problems: Problems) -> bool:
    """Whether a matrix product over all problems is too small for several threads to pay off."""
    J, (n, d) = len(problems.rows), problems.X.shape
    return bool(2 * J * problems.outputs * n * d < _WORTH_THREADS)


def _fit(problems: Problems, tol: float, max_iter: int, given: Spectrum | None) -> Fits:
    # Both precisions take away the same number, one that X's own precision can hold.
    mean = _mean(problems.X).astype(np.float64)
    weights = np.zeros((len(problems.rows), problems.outputs, problems.X.shape[1] + 1))
    left = np.full(len(weights), max_iter)
    gradient = np.full(len(weights), np.inf)
    reach = _reach(problems.X)
    dtype: type[np.float32 | np.float64]
    for dtype in (np.float32, np.float64):
        pending = np.flatnonzero(~(gradient <= tol) & (left > 0))
        if pending.size == 0 or (dtype is np.float32 and reach > _TOO_COARSE):
            continue
        wide = np.result_type(problems.X.dtype, dtype)
        centred = (problems.X - mean.astype(wide)).astype(dtype, copy=False)
        # Found anew in double precision: features of very unequal scale need directions that are truly orthogonal.
        handed = given if dtype is np.float32 else None
        spectrum = handed or leading_spectrum(centred, worthwhile(*centred.shape))
        table = Table(centred, mean.astype(dtype), _targets(problems).astype(dtype), spectrum)
        goal = _MARGIN * tol if dtype is np.float64 else max(_MARGIN * tol, reach)
        for batch in _batches(pending, problems.outputs, centred.shape, dtype):
            share: FloatArray = _shares(problems, batch).astype(dtype)
            weights[batch], left[batch] = _solve(
                table, share, problems.penalty[batch], weights[batch], goal, left[batch]
            )
        del table, centred
        gradient[pending] = _judge(problems, pending, weights[pending], mean)
    coef, intercept = _uncentre(weights, mean)
    return Fits(coef, intercept, gradient, gradient <= tol, max_iter - left)


def _solve(
    table: Table, share: FloatArray, penalty: FloatArray, start: FloatArray, goal: float, left: IntArray
) -> tuple[FloatArray, IntArray]:
    """Descend until every gradient is below the goal, or its iterations are used up."""
    weights, left = start.copy(), left.copy()
    descent = Descent(table, share, penalty, start)
    best, since = np.full(len(start), np.inf), np.zeros(len(start), dtype=int)
    impatient = share.dtype == np.float32
    while True:
        size, index = descent.largest_gradient(), descent.index
        since[index] = np.where(size < 0.9 * best[index], 0, since[index] + 1)
        best[index] = np.fmin(best[index], size)
        sound = np.isfinite(size)
        open_ = sound & (size > goal) & (left[index] > 0)
        if impatient:
            open_ &= since[index] < _PATIENCE
        # A problem that overflowed keeps its start, for double precision to try again.
        done = sound & ~open_
        weights[index[done]] = descent.weights[done]
        descent.keep(open_)
        if not open_.any():
            return weights, left
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            descent.advance()
        left[descent.index] -= 1


def survey(X: FloatArray) -> Spectrum | None:
    """What several calls of `fit_many` on the same features can share; None where single precision is of no use.

    Parameters
    ----------
    X : array (n, d)
        Finite features.
    """
    if _reach(X) > _TOO_COARSE:
        return None
    return leading_spectrum((X - _mean(X)).astype(np.float32, copy=False), worthwhile(*X.shape))


def _mean(X: FloatArray) -> FloatArray:
    """A vector near the mean, (d,); a product is fast, and precision does not matter here."""
    near: FloatArray = np.full(len(X), 1 / len(X), dtype=X.dtype) @ X
    return near


def _reach(X: FloatArray) -> float:
    """The gradient below which single precision is noise: some roundings of the largest feature."""
    with np.errstate(over="ignore"):
        largest = np.sqrt(np.einsum("nd,nd->d", X, X).max() / len(X))
    return float(32 * np.finfo(np.float32).eps * largest)


def _targets(problems: Problems) -> FloatArray:
    """What the probabilities should be, (K', n)."""
    classes = np.arange(problems.n_classes)[-problems.outputs :]
    members: FloatArray = (problems.y == classes[:, None]).astype(np.float64)
    return members


def _shares(problems: Problems, batch: IntArray) -> FloatArray:
    """Multiplicity of every row in every problem of a batch, divided by the problem's size, (J, n)."""
    n = len(problems.X)
    return np.stack([np.bincount(problems.rows[j], minlength=n) / len(problems.rows[j]) for j in batch])


def _batches(pending: IntArray, outputs: int, shape: tuple[int, ...], dtype: DTypeLike) -> Iterator[IntArray]:
    n, d = shape
    each = outputs * (6 * n + 12 * d) * np.dtype(dtype).itemsize
    count = max(1, min(len(pending), -(-each * len(pending) // _BUDGET)))
    yield from np.array_split(pending, count)


def _judge(problems: Problems, which: IntArray, weights: FloatArray, mean: FloatArray) -> NDArray[np.float64]:
    """Gradients of the mean objectives in double precision, on the features as given, block by block, (J,)."""
    coef, intercept = _uncentre(weights, mean)
    share, targets = _shares(problems, which), _targets(problems)
    J, K, d = coef.shape
    flat = coef.reshape(J * K, d)
    slope, level = coef * problems.penalty[which, None, None], np.zeros((J, K))
    for start in range(0, len(problems.X), 2048):
        block = slice(start, start + 2048)
        A = problems.X[block].astype(np.float64, copy=False)
        residual = probabilities((flat @ A.T).reshape(J, K, -1) + intercept[:, :, None])
        residual -= targets[:, block]
        residual *= share[:, None, block]
        slope += (residual.reshape(J * K, -1) @ A).reshape(J, K, d)
        level += residual.sum(axis=2)
    largest: NDArray[np.float64] = np.maximum(np.abs(slope).max(axis=(1, 2)), np.abs(level).max(axis=1))
    return largest


def _uncentre(weights: FloatArray, mean: FloatArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights and intercepts for the features as given."""
    coef = weights[:, :, :-1].astype(np.float64)
    intercept = weights[:, :, -1] - coef @ mean
    if intercept.shape[1] > 1:
        # A softmax does not feel a common shift of the intercepts; scikit-learn's sum to zero.
        intercept -= intercept.mean(axis=1, keepdims=True)
    return coef, intercept
