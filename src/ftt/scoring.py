"""Worst-group accuracy as a scikit-learn scorer, for model selection that does not trade one group for another."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn.metrics import make_scorer
from sklearn.utils._param_validation import StrOptions

from ftt.errors import FttError
from ftt.probe.dfr import GROUPINGS
from ftt.probe.parameters import encode_attribute

__all__ = ["worst_group_accuracy", "worst_group_scorer"]


def worst_group_accuracy(y_true: Any, y_pred: Any, attribute: Any = None, groups: str = "attribute") -> float:
    """The lowest accuracy of any group.

    Parameters
    ----------
    y_true, y_pred : (n,) arrays
        Labels and predictions.
    attribute : (n,) array
        Attribute of each row.
    groups : {"attribute", "label-attribute"}
        Whether a group is an attribute value (the paper), or a label together with an attribute value.

    Examples
    --------
    >>> worst_group_accuracy([0, 1, 0, 1], [0, 1, 1, 1], attribute=["sea", "sea", "land", "land"])
    0.5
    >>> worst_group_accuracy([0, 1, 0, 1], [0, 1, 1, 1], ["sea", "sea", "land", "land"], groups="label-attribute")
    0.0
    """
    if not StrOptions(set(GROUPINGS)).is_satisfied_by(groups):
        raise FttError("invalid value for the parameter 'groups'", given=repr(groups), allowed=", ".join(GROUPINGS))
    if attribute is None:
        raise FttError(
            "worst-group accuracy needs the attribute of each row",
            given="attribute=None",
            allowed="an array with one value per row",
            hint="call sklearn.set_config(enable_metadata_routing=True) and pass attribute= to the search's fit",
        )
    truth, predicted = np.asarray(y_true), np.asarray(y_pred)
    if truth.ndim != 1 or truth.shape != predicted.shape or not len(truth):
        raise FttError(
            "y_true and y_pred must be one-dimensional and of equal length",
            given=f"shapes {truth.shape} and {predicted.shape}",
            allowed="(n,) each, with at least one row",
        )
    values, codes = encode_attribute(attribute, len(truth))
    if groups == "label-attribute":
        codes = codes + len(values) * np.unique(truth, return_inverse=True)[1]
    rows = np.bincount(codes)
    right = np.bincount(codes, weights=truth == predicted)
    return float((right[rows > 0] / rows[rows > 0]).min())


# Requests can only be declared while routing is on; they are used whenever the caller turns it on.
with sklearn.config_context(enable_metadata_routing=True):
    worst_group_scorer = make_scorer(worst_group_accuracy).set_score_request(attribute=True)
"""A scorer that asks for `attribute`.

Examples
--------
>>> import ftt, numpy as np, sklearn
>>> from sklearn.model_selection import GridSearchCV
>>> rng = np.random.default_rng(0)
>>> a, y = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
>>> X = np.c_[y + 0.3 * rng.standard_normal(200), a]
>>> with sklearn.config_context(enable_metadata_routing=True):
...     search = GridSearchCV(ftt.DFRProbe(), {"scale": [False, True]}, scoring=worst_group_scorer, cv=2)
...     float(search.fit(X, y, attribute=a).best_score_) > 0.85
True
"""
