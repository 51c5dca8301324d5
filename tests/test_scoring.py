"""Worst-group accuracy, alone and as the scorer of a search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from fairlearn.metrics import MetricFrame
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_validate

from ftt.errors import FttError
from ftt.estimators import FTTClassifier
from ftt.probe import DFRProbe
from ftt.scoring import worst_group_accuracy, worst_group_scorer

triples = st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from(["sea", "land", "ice"]))


@given(st.lists(triples, min_size=2, max_size=40))
@settings(deadline=None, max_examples=40)
def test_it_is_the_minimum_over_groups_of_fairlearn(rows: list[tuple[int, int, str]]) -> None:
    truth, predicted, attribute = (np.array(column) for column in zip(*rows, strict=True))
    for groups, features in (("attribute", attribute), ("label-attribute", np.c_[truth.astype(str), attribute])):
        frame = MetricFrame(metrics=accuracy_score, y_true=truth, y_pred=predicted, sensitive_features=features)
        assert worst_group_accuracy(truth, predicted, attribute, groups) == pytest.approx(frame.group_min())


def shortcut(n: int = 240) -> tuple[Any, Any, Any]:
    """A column that says the label in the common group and its opposite in the rare one, beside a weak honest one."""
    rng = np.random.default_rng(0)
    y, a = rng.integers(0, 2, n), (np.arange(n) % 6 == 0).astype(int)
    return np.c_[y + 0.8 * rng.standard_normal(n), (2 * y - 1) * np.where(a, -1, 1)], y, np.where(a, "rare", "common")


def test_a_search_picks_what_is_best_for_the_worst_group() -> None:
    X, y, a = shortcut()

    class Blind(DFRProbe):
        """Balances groups only if told to."""

        def __init__(self, balance: bool = True) -> None:
            super().__init__()
            self.balance = balance

        def fit(self, X: Any, y: Any, attribute: Any = None) -> Any:
            return super().fit(X, y, attribute if self.balance else None)

    with sklearn.config_context(enable_metadata_routing=True):
        searches = [
            GridSearchCV(Blind(), {"balance": [False, True]}, scoring=scoring, cv=3).fit(X, y, attribute=a)
            for scoring in (worst_group_scorer, "accuracy")
        ]
    assert [search.best_params_["balance"] for search in searches] == [True, False]


def test_a_search_over_p_routes_the_attribute_to_fit_and_score() -> None:
    X, y, a = shortcut()
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(FTTClassifier(epochs=1), {"p": [0.0, 1.0]}, scoring=worst_group_scorer, cv=2)
        found = search.fit(X, y, attribute=a)
        again = clone(search).fit(X, y, attribute=a)
    assert 0 < found.best_score_ == again.best_score_ < 1


def test_without_routing_the_error_says_how_to_turn_it_on() -> None:
    X, y, _ = shortcut()
    with pytest.raises(FttError, match="enable_metadata_routing=True"):
        cross_validate(DFRProbe(), X, y, scoring=worst_group_scorer, cv=2, error_score="raise")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({"y_pred": [1]}, "equal length"),
        ({"attribute": [0]}, "differ in length"),
        ({"attribute": [[0], [1]]}, "one-dimensional"),
        ({"groups": "label"}, "'groups'"),
    ],
)
def test_wrong_calls_are_refused(call: dict[str, Any], words: str) -> None:
    with pytest.raises(FttError, match=words):
        worst_group_accuracy(**{"y_true": [0, 1], "y_pred": [0, 1], "attribute": [0, 1], **call})
