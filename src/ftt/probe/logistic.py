"""Many L2 logistic regressions over subsets of the same rows, solved together.

The probing protocol asks for dozens of fits (every C, every balanced sub-sample) over one feature matrix. Here they
descend in step (`ftt.probe.lbfgs`), problems on the same rows in order of C (`ftt.probe.path`), in single precision as
far as that carries, then in double. Every solution is judged by its gradient, computed afresh: in single precision
where its rounding cannot change the verdict, otherwise in double on the features as they were given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ftt.arrays import FloatArray, IntArray
from ftt.errors import FttError
from ftt.probe.lbfgs import Descent, Table, probabilities
from ftt.probe.newton import newton, patience
from ftt.probe.path import MIXED, best_mixture, families
from ftt.probe.precondition import leading_spectrum, worthwhile
from ftt.probe.problems import Fits, Problems, check_problems, distinct
from ftt.probe.survey import Survey, survey
from ftt.threads import limited_to

__all__ = ["Fits", "fit_many", "survey"]

_BUDGET = 256 * 2**20
"""Bytes the arrays of one batch of problems may take; more problems are solved in several batches."""

_WORTH_THREADS = 2e9
"""Operations in one matrix product below which several threads cost more than they bring."""

_MARGIN = 0.9
"""Problems stop a little below the tolerance, so that the gradient in double precision is below it too."""

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
    start: ArrayLike | None = None,
    shared: Survey | None = None,
) -> Fits:
    """Solve J logistic regressions.

    Parameters
    ----------
    X : array (n, d)
        Finite features, of which at least one varies; constant ones get a weight of zero.
    y : array (n,)
        Classes 0 … K−1; two are binary, more are a softmax, as in scikit-learn.
    rows : sequence of J index arrays
        The rows of each problem; a row listed twice weighs twice. Rows that no problem lists are never read, unless
        `shared` has read them.
    C : sequence of J floats
        Inverse strength of the L2 penalty, as in scikit-learn.
    n_classes : int, optional
        K; by default one more than the largest label in use.
    tol : float
        Bound on the largest entry of the gradient of the mean objective (scikit-learn's own criterion).
    max_iter : int
        Iterations of L-BFGS, both precisions together.
    start : array (J, K', d + 1), optional
        Weights to start from, the intercept last, where something close to the solutions is known. They must not come
        from rows that are held out from these problems. Of equal problems the first one's are used.
    shared : Survey, optional
        Result of `survey` on X, shared by several calls on the same features; by default it is computed from the rows
        in use. It affects the speed of convergence, not the solution.

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
    problems = check_problems(X, y, rows, C, n_classes, checked=shared is not None)
    if not (tol > 0 and max_iter > 0):
        raise FttError(
            "tol and max_iter must be positive", given=f"tol={tol}, max_iter={max_iter}", allowed="values above 0"
        )
    problems, place = distinct(problems)
    weights = np.zeros((len(problems.rows), problems.outputs, problems.X.shape[1] + 1))
    if start is not None:
        weights[:] = np.asarray(start)[np.unique(place, return_index=True)[1]]
    with limited_to(1) if _is_small(problems) else nullcontext():
        fits = _fit(problems, weights, tol, max_iter, shared or survey(problems.X))[place]
    # Without a survey the problems have left out the rows that none of them lists.
    return fits if shared else replace(fits, scores=None)


def _is_small(problems: Problems) -> bool:
    """Whether a matrix product over all problems is too small for several threads to pay off."""
    J, (n, d) = len(problems.rows), problems.X.shape
    return bool(2 * J * problems.outputs * n * d < _WORTH_THREADS)


def _fit(problems: Problems, weights: FloatArray, tol: float, max_iter: int, shared: Survey) -> Fits:
    """Solve all problems from these weights, which are changed in place."""
    mean = shared.mean
    weights[:, :, -1] += weights[:, :, :-1] @ mean
    left = np.full(len(weights), max_iter)
    gradient, scores = np.full(len(weights), np.inf), None
    if shared.spectrum is not None:
        targets = _targets(problems, np.float32)
        table = Table(shared.single_rows, mean.astype(np.float32), targets, shared.spectrum, shared.centred)
        _descend(table, problems, np.arange(len(weights)), weights, left, tol, shared.reach)
        gradient, scores = _judge_in_single(table, problems, weights)
        # Evaluated again in double precision where rounding could hide that the tolerance is missed, or is met.
        unsure = np.flatnonzero(~(np.abs(gradient - tol) > shared.reach))
        if unsure.size:
            gradient[unsure] = _judge(problems, unsure, weights[unsure], mean)
        del table
    pending = np.flatnonzero(~(gradient <= tol) & (left > 0))
    if pending.size:
        _finish_in_double(problems, pending, weights, left, gradient, tol, mean)
        scores = None
    coef, intercept = _uncentre(weights, mean)
    return Fits(coef, intercept, gradient, gradient <= tol, max_iter - left, scores)


def _finish_in_double(
    problems: Problems,
    pending: IntArray,
    weights: FloatArray,
    left: IntArray,
    gradient: FloatArray,
    tol: float,
    mean: FloatArray,
) -> None:
    """Solve what single precision could not; `weights`, `left` and `gradient` change in place."""
    centred = problems.X.astype(np.float64) - mean
    # Found anew in double precision: features of very unequal scale need directions that are truly orthogonal.
    spectrum = leading_spectrum(centred, worthwhile(*centred.shape))
    table = Table(centred, mean, _targets(problems, np.float64), spectrum)
    limit = patience(problems)
    kept = np.maximum(left - limit, 0) if limit else np.zeros_like(left)
    now = left - kept
    _descend(table, problems, pending, weights, now, tol)
    left[:] = now + kept
    gradient[pending] = _judge(problems, pending, weights[pending], mean)
    for j in np.flatnonzero(~(gradient <= tol) & (left > 0)) if limit else ():
        coef, intercept, steps = newton(problems, int(j), _MARGIN * tol, int(left[j]))
        found = np.concatenate([coef, (intercept + coef @ mean)[:, None]], axis=1)[None]
        reached = float(_judge(problems, np.array([j]), found, mean)[0])
        left[j] -= steps
        if not gradient[j] <= reached:
            weights[j], gradient[j] = found[0], reached


def _descend(
    table: Table,
    problems: Problems,
    pending: IntArray,
    weights: FloatArray,
    left: IntArray,
    tol: float,
    least: float = 0.0,
) -> None:
    """Solve the pending problems as far as the table's precision carries; `weights` and `left` change in place."""
    for rounds in _rounds(problems, pending, table.X.dtype, started=bool(weights.any())):
        _solve_rounds(table, problems, rounds, weights, left, tol, least)


def _rounds(problems: Problems, pending: IntArray, dtype: DTypeLike, *, started: bool) -> Iterator[list[IntArray]]:
    """Batches of problems that fit into memory; in each, those of a round are solved together, round after round.

    Problems that have weights to start from need no solutions at other C.
    """
    n, d = problems.X.shape
    family, rank = families(problems)
    if started:
        family, rank = np.arange(len(family)), np.zeros_like(rank)
    present = np.unique(family[pending])
    each = problems.outputs * ((6 + 3 * MIXED) * n + (12 + 2 * MIXED) * d) * np.dtype(dtype).itemsize
    count = max(1, min(len(present), -(-each * len(present) // _BUDGET)))
    for part in np.array_split(present, count):
        batch = pending[np.isin(family[pending], part)]
        batch = batch[np.argsort(family[batch], kind="stable")]
        yield [batch[rank[batch] == turn] for turn in range(rank[batch].max() + 1)]


def _solve_rounds(
    table: Table,
    problems: Problems,
    rounds: list[IntArray],
    weights: FloatArray,
    left: IntArray,
    tol: float,
    least: float,
) -> None:
    """Solve round after round, each problem starting from those on the same rows in earlier rounds.

    `weights` and `left` are changed in place.
    """
    dtype, goal = table.X.dtype, max(_MARGIN * tol, least)
    rows: list[int] = []
    past: list[tuple[FloatArray, FloatArray]] = []
    for turn, batch in enumerate(rounds):
        share: FloatArray = _shares(problems, batch).astype(dtype)
        penalty = problems.penalty[batch].astype(dtype)
        start, scores = weights[batch].astype(dtype), None
        own = [id(problems.rows[j]) for j in batch]
        if turn:
            still = np.isin(rows, own)
            past = [(solved[still], reached[still]) for solved, reached in past[-MIXED:]]
            start, scores = best_mixture(table, share, penalty, past)
        weights[batch], scores, left[batch] = _solve(table, share, penalty, start, scores, goal, left[batch])
        past.append((weights[batch].astype(dtype), scores))
        rows = own


def _solve(
    table: Table,
    share: FloatArray,
    penalty: FloatArray,
    start: FloatArray,
    scores: FloatArray | None,
    goal: float,
    left: IntArray,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Descend until every gradient is below the goal, or its iterations are used up."""
    descent = Descent(table, share, penalty, start, scores)
    weights, scores, left = start.copy(), descent.scores.copy(), left.copy()
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
        weights[index[done]], scores[index[done]] = descent.weights[done], descent.scores[done]
        descent.keep(open_)
        if not open_.any():
            return weights, scores, left
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            descent.advance()
        left[descent.index] -= 1


def _targets(problems: Problems, dtype: DTypeLike) -> FloatArray:
    """What the probabilities should be, (K', n)."""
    classes = np.arange(problems.n_classes)[-problems.outputs :]
    members: FloatArray = (problems.y == classes[:, None]).astype(dtype)
    return members


def _shares(problems: Problems, batch: IntArray) -> FloatArray:
    """Multiplicity of every row in every problem of a batch, divided by the problem's size, (J, n)."""
    n = len(problems.X)
    found: dict[int, FloatArray] = {}
    for j in batch:
        rows = problems.rows[j]
        if id(rows) not in found:
            found[id(rows)] = np.bincount(rows, minlength=n) / len(rows)
    return np.stack([found[id(problems.rows[j])] for j in batch])


def _judge_in_single(
    table: Table, problems: Problems, weights: FloatArray
) -> tuple[NDArray[np.float64], FloatArray | None]:
    """Gradients of the mean objectives of all problems in single precision, (J,), and the scores they follow from.

    Scores are computed afresh. They are kept if they are those of all rows, and not so many that they come in parts.
    """
    n, d = table.X.shape
    count = max(1, 6 * len(weights) * problems.outputs * (n + d) * 4 // _BUDGET)
    batches = np.array_split(np.arange(len(weights)), min(count, len(weights)))
    found, scores = [], None
    for batch in batches:
        share = _shares(problems, batch).astype(np.float32)
        descent = Descent(table, share, problems.penalty[batch], weights[batch])
        found.append(descent.largest_gradient())
        if len(batches) == 1 and descent.used is None:
            scores = descent.scores
    return np.concatenate(found).astype(np.float64), scores


def _judge(problems: Problems, which: IntArray, weights: FloatArray, mean: FloatArray) -> NDArray[np.float64]:
    """Gradients of the mean objectives in double precision, on the features as given, block by block, (J,)."""
    coef, intercept = _uncentre(weights, mean)
    share, targets = _shares(problems, which), _targets(problems, np.float64)
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
