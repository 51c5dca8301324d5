"""What the estimators accept, checked at `fit` as scikit-learn does: parameters, random states and attributes."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Integral, Interval, Real, StrOptions, make_constraint

from ftt.arrays import IntArray
from ftt.errors import FttError

RandomState = int | np.random.RandomState | np.random.Generator | None

COUNT = Interval(Integral, 1, None, closed="left")
FITS = Interval(Integral, 1, 10**4, closed="both")
"""Numbers of fits; what `ftt.Probing` accepts."""
POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
RANDOM_STATE = [Interval(Integral, 0, None, closed="left"), np.random.RandomState, np.random.Generator, None]


def check_parameters(estimator: BaseEstimator, constraints: Mapping[str, list[Any]]) -> None:
    """Refuse the first parameter that meets none of its constraints.

    Parameters
    ----------
    estimator : BaseEstimator
    constraints : mapping of str to list
        What each parameter may be, in the terms of scikit-learn's own estimators.
    """
    for name, declared in constraints.items():
        value, accepted = getattr(estimator, name), [make_constraint(item) for item in declared]
        if any(constraint.is_satisfied_by(value) for constraint in accepted):
            continue
        words = [word for item in accepted if isinstance(item, StrOptions) for word in item.options]
        near = difflib.get_close_matches(str(value), words, n=1, cutoff=0.5)
        raise FttError(
            f"invalid value for the parameter {name!r} of {type(estimator).__name__}",
            given=repr(value),
            allowed=" or ".join(str(constraint) for constraint in accepted),
            hint=f"did you mean {near[0]!r}?" if near else None,
        )


def draw_seed(random_state: Any) -> int:
    """The seed of one fit: an integer as it is; otherwise drawn from the generator that scikit-learn would draw from.

    None stands for NumPy's global state, so that every fit differs unless `numpy.random.seed` was called.
    """
    if isinstance(random_state, Integral):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))


def encode_attribute(attribute: Any, n: int) -> tuple[npt.NDArray[Any], IntArray]:
    """The distinct values of an attribute, and the code of each row.

    Parameters
    ----------
    attribute : (n,) array-like or None
        None puts all rows in one group.
    n : int
        Number of rows of the features it belongs to.
    """
    values = np.zeros(n, dtype=np.int64) if attribute is None else np.asarray(attribute)
    if values.ndim != 1:
        shape = f"an array of shape {values.shape}" if values.ndim else repr(attribute)
        raise FttError("attribute must be one-dimensional", given=shape, allowed=f"an array of shape ({n},)")
    if len(values) != n:
        raise FttError("attribute and y differ in length", given=f"{len(values)} values", allowed=f"{n}, one per row")
    missing = np.flatnonzero([_is_missing(value) for value in values] if values.dtype.kind in "OfMm" else [])
    if missing.size:
        raise FttError(
            "attribute has missing values",
            given=f"{missing.size} missing, the first in row {missing[0]}",
            allowed="a value for every row",
            hint="drop these rows, or give them a value of their own",
        )
    try:
        found, codes = np.unique(values, return_inverse=True)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values.tolist()})
        raise FttError("attribute mixes types", given=", ".join(kinds), allowed="values of one type") from None
    return found, codes.astype(np.int64)


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or pandas' NA, which refuses to be compared."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
