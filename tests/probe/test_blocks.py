"""Blocks of columns with a penalty each, chosen together with C on rows the fits have not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from ftt.errors import FttError
from ftt.probe import DFRProbe, fit_together, solving
from ftt.probe.blocks import RATIOS, block_members, spreads
from ftt.probe.judging import CRITERIA, balanced_loss
from ftt.probe.logistic import Fits, fit_many
from ftt.probe.protocol import draw_rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
FEW: dict[str, Any] = {"grid": (1.0, 0.1, 0.01), "repeats": 2, "averages": 3, "tol": 1e-8}


def two_blocks(n: int = 240, noise: int = 60, classes: int = 2, seed: int = 0) -> tuple[Floats, Ints, Ints]:
    """Ten columns of which the first ones hold the label, then many louder ones that hold nothing."""
    rng = np.random.default_rng(seed)
    y, a = rng.integers(0, classes, n), (rng.random(n) < 0.4).astype(np.int64)
    useful = 1.5 * np.eye(classes, 10)[y] + rng.standard_normal((n, 10))
    return np.c_[useful, 20 * rng.standard_normal((n, noise))], y, a


def fitted_by_hand(probe: DFRProbe, X: Floats, y: Ints, a: Ints, widths: list[int]) -> tuple[Floats, Floats]:
    """The averaged fits in scikit-learn on scaled columns, at the ratios and the C that the probe chose."""
    members = np.repeat(np.arange(len(widths)), widths)
    spread = np.array([np.sqrt(X[:, members == b].var(axis=0).mean()) for b in range(len(widths))])
    factor = (np.array(probe.ratios_) / spread)[members]
    draw = draw_rows(y, a, probe.repeats, probe.averages, 0)
    solver: Any = {"tol": 1e-10, "C": probe.C_, "max_iter": 10_000}
    models = [LogisticRegression(**solver).fit((X * factor)[rows], y[rows]) for rows in draw.samples]
    return np.mean([m.coef_ for m in models], axis=0) * factor, np.mean([m.intercept_ for m in models], axis=0)


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_are_those_of_scikit_learn_on_scaled_columns(classes: int) -> None:
    X, y, a = two_blocks(classes=classes)
    probe = DFRProbe(blocks=[10, 60], **FEW).fit(X, y, attribute=a)
    assert probe.ratios_[1] < 1
    coef, intercept = fitted_by_hand(probe, X, y, a, [10, 60])
    np.testing.assert_allclose(probe.coef_, coef, atol=1e-5 * np.abs(coef).max())
    np.testing.assert_allclose(probe.intercept_, intercept, atol=1e-5)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_block_of_noise_is_suppressed_and_the_probe_the_better_for_it(criterion: str) -> None:
    X, y, a = two_blocks()
    test_X, test_y, _ = two_blocks(2000, seed=1)
    settings: dict[str, Any] = {"criterion": criterion, "repeats": 5}
    plain = DFRProbe(blocks=[70], scale=True, **settings).fit(X, y, attribute=a).score(test_X, test_y)
    for blocks, noise in (([10, 60], 1), ([slice(10, None), slice(0, 10)], 0)):
        probe = DFRProbe(blocks=blocks, **settings).fit(X, y, attribute=a)
        assert probe.ratios_[noise] < probe.ratios_[1 - noise] == 1
        assert probe.score(test_X, test_y) > plain + 0.03


def test_ratio_zero_leaves_a_block_out() -> None:
    X, y, a = two_blocks()
    probe = DFRProbe(blocks=[10, 60], ratios=(1, 0), **FEW).fit(X, y, attribute=a)
    assert probe.ratios_ == (1, 0)
    assert (probe.coef_[0, 10:] == 0).all()
    alone = DFRProbe(blocks=[10], **FEW).fit(X[:, :10], y, attribute=a)
    np.testing.assert_allclose(probe.coef_[:, :10], alone.coef_, atol=1e-5)


def test_equal_scores_keep_equal_ratios() -> None:
    rng = np.random.default_rng(0)
    y, a = np.arange(80) % 2, np.arange(80) // 2 % 2
    X = 10.0 * np.c_[y, y] + 0.01 * rng.standard_normal((80, 2))
    probe = DFRProbe(blocks=[1, 1]).fit(X, y, attribute=a)
    assert (probe.ratios_, probe.C_) == ((1, 1), 10)


class Spy:
    """Stands for `fit_many` and remembers features, rows and C of every call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[Floats, list[Ints], list[float]]] = []
        monkeypatch.setattr(solving, "fit_many", self)

    def __call__(self, X: Any, y: Any, rows: list[Ints], C: list[float], **options: Any) -> Fits:
        self.calls.append((X, rows, C))
        return fit_many(X, y, rows, C, **options)


def test_every_fit_that_chooses_sees_only_its_own_half(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, a = two_blocks()
    spy = Spy(monkeypatch)
    probe = DFRProbe(blocks=[10, 60], **FEW).fit(X, y, attribute=a)
    halves = draw_rows(y, a, 2, 3, 0).halves
    choosing = spy.calls[:-1]
    assert len(choosing) * 3 == len(probe.held_out_["C"])
    for _, rows, _ in choosing:
        for repeat, (first, second) in enumerate(halves):
            assert all(not set(own) & set(second) for own in rows[3 * repeat : 3 * repeat + 3])
            assert all(set(own) == set(first) for own in rows[3 * repeat : 3 * repeat + 3])
    # Labels of held-out rows decide which candidate wins, never what a candidate is.
    spy.calls.clear()
    unseen = np.setdiff1d(np.arange(len(y)), np.concatenate([first for first, _ in halves]))
    flipped = y.copy()
    flipped[unseen] = 1 - flipped[unseen]
    other = DFRProbe(blocks=[10, 60], **FEW).fit(X, flipped, attribute=a)
    np.testing.assert_array_equal(spy.calls[0][0], choosing[0][0])
    assert other.held_out_["score"][0] != probe.held_out_["score"][0]


def test_seeds_are_solved_together_at_each_ratio_and_come_to_what_they_come_to_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y, a = two_blocks()
    alone = [DFRProbe(blocks=[10, 60], **FEW, random_state=seed).fit(X, y, attribute=a) for seed in range(4)]
    spy = Spy(monkeypatch)
    together = fit_together([DFRProbe(blocks=[10, 60], **FEW, random_state=seed) for seed in range(4)], X, y, a)
    for one, same in zip(alone, together, strict=True):
        assert (one.ratios_, one.C_) == (same.ratios_, same.C_)
        np.testing.assert_allclose(one.coef_, same.coef_, atol=1e-6)
    first = 1 + len(RATIOS) - 1
    assert [len(C) for _, _, C in spy.calls[:first]] == [4 * 2 * 3] * first
    assert len(spy.calls) <= 1 + 2 * 2 * (len(RATIOS) - 1) + len({probe.ratios_ for probe in together})


def test_log_loss_is_the_mean_over_groups_of_scikit_learns() -> None:
    X, y, a = two_blocks(classes=3)
    X = X / X.std(axis=0)
    probe = DFRProbe(grid=(0.1,), repeats=2, averages=1, criterion="log-loss", tol=1e-9).fit(X, y, attribute=a)
    losses = []
    for first, second in draw_rows(y, a, 2, 1, 0).halves:
        model = LogisticRegression(C=0.1, tol=1e-10, max_iter=10_000).fit(X[first], y[first])
        rows = [second[a[second] == value] for value in (0, 1)]
        losses.append(np.mean([log_loss(y[own], model.predict_proba(X[own])) for own in rows]))
    assert probe.held_out_["score"].tolist() == pytest.approx([-np.mean(losses)], rel=1e-5)
    assert 0 < probe.worst_by_C_[0.1] < 1


@pytest.mark.parametrize("classes", [2, 4])
def test_calibrated_log_loss_is_the_minimum_over_temperatures(classes: int) -> None:
    rng = np.random.default_rng(0)
    y, weights = rng.integers(0, classes, 80), rng.dirichlet(np.ones(80))
    logits = rng.standard_normal((80, 5, classes)) + 2 * np.eye(classes)[y][:, None]
    logits *= np.array([0.01, 0.3, 1.0, 5.0, 40.0])[:, None]
    found = balanced_loss(logits, y, weights, True)
    for j in range(5):
        at = minimize_scalar(lambda t, j=j: balanced_loss(np.exp(t) * logits[:, [j]], y, weights, False)[0])
        assert found[j] == pytest.approx(at.fun, rel=1e-6)
    scaled = balanced_loss(7 * logits, y, weights, True)
    np.testing.assert_allclose(scaled, found, rtol=1e-6)


def test_scores_that_are_always_right_or_always_wrong_have_a_finite_loss() -> None:
    y, weights = np.arange(10) % 2, np.full(10, 0.1)
    right = np.eye(2)[y][:, None]
    assert balanced_loss(right, y, weights, True)[0] == pytest.approx(0, abs=1e-6)
    assert balanced_loss(1 - right, y, weights, True)[0] == pytest.approx(np.log(2), abs=1e-3)


def test_without_blocks_nothing_is_scaled_and_one_ratio_is_tried() -> None:
    X, y, a = two_blocks()
    probe = DFRProbe(**FEW, ratios=(1.0, 0.1)).fit(X, y, attribute=a)
    np.testing.assert_array_equal(probe.coef_, DFRProbe(**FEW).fit(X, y, attribute=a).coef_)
    assert probe.ratios_ == (1,)
    assert probe.held_out_["ratios"].tolist() == [[1]] * 3


def test_blocks_are_searched_clone_and_scale_like_any_parameter() -> None:
    X, y, _ = two_blocks()
    search = GridSearchCV(DFRProbe(**FEW), {"blocks": [None, [10, 60]]}, cv=2).fit(X, y)
    assert search.best_params_["blocks"] == [10, 60]
    assert clone(search.best_estimator_).fit(X, y).ratios_ == search.best_estimator_.ratios_
    scaled = DFRProbe(blocks=np.array([10, 60]), scale=True, **FEW).fit(X, y)  # type: ignore[arg-type]
    np.testing.assert_allclose(spreads(X / X.std(axis=0), block_members([10, 60], 70)), 1)
    assert scaled.ratios_[1] < 1


def test_three_blocks_try_one_after_another() -> None:
    X, y, a = two_blocks()
    probe = DFRProbe(blocks=[10, 30, 30], criterion="log-loss", **FEW).fit(X, y, attribute=a)
    assert probe.ratios_[0] == 1
    assert max(probe.ratios_[1:]) < 0.4
    assert len(np.unique(probe.held_out_["ratios"], axis=0)) <= 1 + 3 * (len(RATIOS) - 1)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_blocks_that_do_not_vary_are_harmless(penalty: str) -> None:
    X, y, a = two_blocks()
    X[:, 10:] = 1
    probe = DFRProbe(blocks=[10, 60], penalty=penalty, grid=(0.1,), averages=2).fit(X, y, attribute=a)
    assert np.isfinite(probe.coef_).all()
    assert np.abs(probe.coef_[:, 10:]).max() < 1e-6


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"blocks": [10, 61]}, "widths with a sum of 70"),
        ({"blocks": [10]}, "widths with a sum of 70"),
        ({"blocks": [70, 0]}, "positive widths"),
        ({"blocks": [35.0, 35.0]}, "positive widths"),
        ({"blocks": [slice(0, 10), slice(9, 70)]}, "each of 70 columns once"),
        ({"blocks": [slice(0, 10), slice(11, 70)]}, "each of 70 columns once"),
        ({"blocks": 2}, "'blocks'"),
        ({"blocks": [10, 60], "ratios": []}, "'ratios'"),
        ({"blocks": [10, 60], "ratios": [1, -1]}, "'ratios'"),
        ({"blocks": [10, 60], "ratios": [1, np.inf]}, "'ratios'"),
        ({"criterion": "accuracy"}, "'criterion'"),
    ],
)
def test_invalid_blocks_are_refused(settings: dict[str, Any], words: str) -> None:
    X, y, a = two_blocks()
    with pytest.raises(FttError, match=words):
        DFRProbe(**settings).fit(X, y, attribute=a)
