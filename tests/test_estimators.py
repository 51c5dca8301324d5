"""The scikit-learn front door behaves as scikit-learn asks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import ftt
from ftt.errors import FttError


def digits() -> tuple[Any, Any, Any, Any, Any, Any]:
    data = ftt.load("digits", core_noise=0.1, spurious_noise=0.05)
    out: list[Any] = []
    for split in (data["train"], data["val"]):
        out += [split.inputs.read(np.arange(len(split))).reshape(len(split), -1) / 255, split.y, split.a]
    return tuple(out)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [ftt.PCAFreezer(), ftt.DFRProbe(), ftt.FTTClassifier(epochs=3)], ids=repr)
def test_sklearn_finds_nothing_to_complain_about(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None)
    failed = {r["check_name"]: str(r["exception"])[:200] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 30


def test_a_grid_search_over_p_runs_on_digits() -> None:
    X, y, *_ = digits()
    search = GridSearchCV(ftt.FTTClassifier(epochs=2), {"p": [0.0, 0.25, 1.0]}, cv=2).fit(X, y)
    assert search.best_params_["p"] in (0.0, 0.25, 1.0)
    assert search.best_score_ > 0.7


def test_the_attribute_is_routed_through_a_pipeline() -> None:
    *_, X_val, y_val, a_val = digits()
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), ftt.PCAFreezer(p=0.5), ftt.DFRProbe(averages=2))
        balanced = pipeline.fit(X_val, y_val, attribute=a_val)[-1].coef_
        plain = clone(pipeline).fit(X_val, y_val)[-1].coef_
    assert not np.allclose(balanced, plain)


def test_probing_on_the_target_beats_the_head_fitted_on_the_shortcut() -> None:
    X, y, a, X_val, y_val, a_val = digits()
    classifier = ftt.FTTClassifier(epochs=5).fit(X, y, attribute=a)
    held = slice(180, None)
    before = classifier.score(X_val[held], y_val[held])
    after = classifier.probe(X_val[:180], y_val[:180], attribute=a_val[:180]).score(X_val[held], y_val[held])
    assert after > before


@pytest.mark.parametrize("method", ["erm", "irm", "cvar-dro", "group-dro", "jtt"])
@pytest.mark.parametrize("branch", ["linear", "mlp"])
def test_every_method_fits_both_branches(method: str, branch: str) -> None:
    X, y, a, *_ = digits()
    classifier = ftt.FTTClassifier(method=method, branch=branch, epochs=1).fit(X, y, attribute=a)
    assert classifier.transform(X).shape == X.shape
    assert classifier.predict_proba(X).sum(axis=1) == pytest.approx(1)


def test_a_clone_fits_to_the_same_weights() -> None:
    X, y, a, *_ = digits()
    first = ftt.FTTClassifier(epochs=1).fit(X, y, attribute=a)
    second = clone(first).fit(X, y, attribute=a)
    np.testing.assert_array_equal(first.probe_.coef_, second.probe_.coef_)


def test_an_unknown_branch_is_named() -> None:
    X, y, *_ = digits()
    with pytest.raises(FttError, match="branch"):
        ftt.FTTClassifier(branch="cubic").fit(X, y)
