"""``dfr-original`` is the loop of deep feature reweighting, written out with scikit-learn on the same draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from ftt.arrays import FloatArray, IntArray
from ftt.probe import DFRProbe
from ftt.probe.protocol import draw_rows
from ftt.spec import PROTOCOLS

Features = tuple[FloatArray, IntArray, IntArray]
GRID = (1.0, 0.3, 0.1)


@pytest.fixture(scope="module")
def features() -> Features:
    """Exported features with a core and a shortcut, in four groups of unequal size."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    a = np.where(rng.random(400) < 0.25, 1 - y, y)
    X = rng.normal(size=(400, 12)) * rng.uniform(0.5, 3, 12)
    X[:, 0] += 1.5 * y
    X[:, 1] += 3.0 * a
    return X, y, a


def test_weights_are_those_of_the_authors_loop(features: Features) -> None:
    X, y, a = features
    options = {name: value for name, value in PROTOCOLS["dfr-original"].items() if name != "grid"}
    probe = DFRProbe(GRID, **options, tol=1e-6, random_state=3).fit(X, y, attribute=a)
    group = 2 * y + a
    drawn = draw_rows(y, group, options["repeats"], options["averages"], 3)
    scaled = StandardScaler().fit(X)
    Z = scaled.transform(X)

    def fitted(rows: IntArray, C: float) -> Any:
        return LogisticRegression(l1_ratio=1.0, C=C, solver="liblinear", tol=1e-6, max_iter=1000, random_state=0).fit(
            Z[rows], y[rows]
        )

    scores = {}
    for C in GRID:
        held = [(fitted(first, C).predict(Z[second]) == y[second], group[second]) for first, second in drawn.halves]
        scores[C] = np.mean([min(right[g == code].mean() for code in range(4)) for right, g in held])
    best = max(C for C in GRID if scores[C] == max(scores.values()))
    assert best == probe.C_
    assert {C: probe.worst_by_C_[C] for C in GRID} == pytest.approx(scores)
    models = [fitted(rows, best) for rows in drawn.samples]
    coef = np.mean([model.coef_[0] for model in models], axis=0) / scaled.scale_
    np.testing.assert_allclose(probe.coef_[0], coef, rtol=1e-3, atol=1e-4)
    intercept = np.mean([model.intercept_[0] for model in models]) - coef @ scaled.mean_
    assert float(probe.intercept_[0]) == pytest.approx(intercept, rel=1e-3, abs=1e-3)
