"""From embeddings in a DataFrame to a stored classifier: a grid search by the worst group, skops, predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import pytest
import sklearn
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

import ftt
from ftt.scoring import worst_group_accuracy


def frame(rows: int, seed: int) -> tuple[pandas.DataFrame, pandas.Series, pandas.Series]:
    """Real digits, odd or even, and a mark beside them that agrees with the parity nine times out of ten."""
    digits, rng = load_digits(), np.random.default_rng(seed)
    picked = rng.permutation(len(digits.target))[:rows]
    y = np.where(digits.target[picked] % 2, "odd", "even")
    mark = np.where((y == "odd") == (rng.random(rows) < 0.9), "red", "blue")
    X = pandas.DataFrame(digits.data[picked], columns=[f"pixel {k}" for k in range(64)])
    X["mark"] = 12.0 * (mark == "red") + rng.standard_normal(rows)
    return X, pandas.Series(y, name="parity"), pandas.Series(mark, name="mark")


@pytest.mark.slow
def test_a_search_by_the_worst_group_is_stored_with_skops_and_predicts_the_same(tmp_path: Path) -> None:
    sio = pytest.importorskip("skops.io")
    X, y, a = frame(600, seed=0)
    new, truth, groups = frame(400, seed=1)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            ftt.FTTClassifier(epochs=3), {"p": [0.0, 0.5]}, scoring=ftt.worst_group_scorer, cv=3, error_score="raise"
        ).fit(X, y, attribute=a)
    chosen = search.best_estimator_.probe(X, y, attribute=a)
    assert 0 < search.best_score_ <= 1

    sio.dump(chosen, tmp_path / "model.skops")
    loaded = sio.load(tmp_path / "model.skops", trusted=sio.get_untrusted_types(file=tmp_path / "model.skops"))
    assert loaded.predict(new).tolist() == chosen.predict(new).tolist()
    np.testing.assert_array_equal(loaded.predict_proba(new), chosen.predict_proba(new))
    assert worst_group_accuracy(truth, loaded.predict(new), groups) > 0.6
