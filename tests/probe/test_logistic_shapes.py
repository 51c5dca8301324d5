"""At the shape of a real probing set: ReLU features, falling spectrum, more features than rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ftt.probe.logistic import fit_many


@pytest.mark.slow
def test_waterbirds_shape_converges_to_what_scikit_learn_finds() -> None:
    rng = np.random.default_rng(0)
    n, d = 1199, 2048
    latent = rng.normal(size=(n, d)) * np.arange(1, d + 1) ** -0.8
    y = (latent[:, 3:20].sum(axis=1) > 0).astype(int)
    X = np.maximum(latent @ np.linalg.qr(rng.normal(size=(d, d)))[0] * 20 + 0.3 * rng.normal(size=d), 0)
    X, y = X.astype(np.float32), np.where(rng.random(n) < 0.1, 1 - y, y)
    C = [1.0, 0.1, 0.01]
    rows = [rng.permutation(n)[:599] for _ in C]
    loose, tight = (fit_many(X, y, rows, C, tol=tol, max_iter=5000) for tol in (1e-4, 1e-8))
    assert loose.converged.all()
    assert tight.converged.all()
    for j, subset in enumerate(rows):
        model = LogisticRegression(C=C[j], tol=1e-8, max_iter=50_000).fit(X[subset].astype(np.float64), y[subset])
        assert np.linalg.norm(tight.coef[j] - model.coef_) < 1e-3 * np.linalg.norm(model.coef_)
        scores = X @ loose.coef[j, 0] + loose.intercept[j, 0]
        wanted = X @ model.coef_[0] + model.intercept_[0]
        assert ((scores > 0) == (wanted > 0)).mean() > 0.99
