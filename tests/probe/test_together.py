"""Probes of several seeds fitted together are the probes fitted alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ftt.errors import FttError
from ftt.probe import dfr, solving
from ftt.probe.dfr import DFRProbe, fit_together
from ftt.probe.logistic import Fits, fit_many
from ftt.probe.problems import check_problems, distinct
from ftt.probe.survey import survey

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def features(n: int, d: int, classes: int = 2, seed: int = 0) -> tuple[Floats, Ints, Ints]:
    """Non-negative features of falling variance, as a backbone gives; the label moves some, the attribute others."""
    rng = np.random.default_rng(seed)
    y, a = rng.integers(0, classes, n), (rng.random(n) < 0.3).astype(np.int64)
    latent = rng.standard_normal((n, d)) * np.arange(1, d + 1) ** -0.6
    latent[:, : d // 4] += np.eye(classes, d // 4)[y] + 0.4 * np.outer(a, rng.standard_normal(d // 4))
    X = np.maximum(latent @ np.linalg.qr(rng.standard_normal((d, d)))[0] + 0.2, 0)
    return X, np.where(rng.random(n) < 0.1, rng.integers(0, classes, n), y), a


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 3])
def test_every_seed_comes_to_what_it_comes_to_alone(classes: int, dtype: type[np.floating[Any]]) -> None:
    X, y, a = features(400, 60, classes)
    X = X.astype(dtype)
    together = fit_together([DFRProbe(random_state=seed) for seed in range(5)], X, y, a)
    for seed, probe in enumerate(together):
        alone = DFRProbe(random_state=seed).fit(X, y, attribute=a)
        assert probe.C_ == alone.C_
        assert probe.worst_by_C_ == pytest.approx(alone.worst_by_C_, abs=0.01)
        assert np.linalg.norm(probe.coef_ - alone.coef_) < 1e-2 * np.linalg.norm(alone.coef_)
        assert (probe.predict(X) == alone.predict(X)).mean() > 0.99
        assert (probe.at_edge_, probe.converged_) == (alone.at_edge_, alone.converged_)
        assert probe.classes_.tolist() == alone.classes_.tolist()
        assert probe.n_features_in_ == 60


def test_seeds_differ_in_what_they_draw() -> None:
    X, y, a = features(300, 20)
    first, second = fit_together([DFRProbe(random_state=seed) for seed in (0, 1)], X, y, a)
    assert (first.coef_ != second.coef_).any()


def test_all_seeds_are_solved_in_two_calls_the_second_at_the_c_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[float]] = []

    def spy(X: Any, y: Any, rows: list[Ints], C: list[float], **options: Any) -> Fits:
        calls.append(C)
        return fit_many(X, y, rows, C, **options)

    monkeypatch.setattr(solving, "fit_many", spy)
    X, y, a = features(300, 40)
    probes = fit_together([DFRProbe("paper", averages=4, random_state=seed) for seed in range(6)], X, y, a)
    assert [len(C) for C in calls] == [6 * 3 * 7, 6 * 4]
    assert calls[1] == [probe.C_ for probe in probes for _ in range(4)]


def test_seeds_that_do_not_fit_into_memory_together_go_in_several_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, a = features(200, 20)
    whole = fit_together([DFRProbe(random_state=seed) for seed in range(3)], X, y, a)
    monkeypatch.setattr(dfr, "_BUDGET", 1)
    parts = fit_together([DFRProbe(random_state=seed) for seed in range(3)], X, y, a)
    assert [probe.C_ for probe in parts] == [probe.C_ for probe in whole]


def test_l1_probes_are_fitted_together_too() -> None:
    X, y, a = features(200, 10)
    settings: dict[str, Any] = {"penalty": "l1", "grid": [0.3, 0.1], "repeats": 1, "averages": 2, "scale": True}
    together = fit_together([DFRProbe(**settings, random_state=seed) for seed in (0, 1)], X, y, a)
    alone = DFRProbe(**settings, random_state=1).fit(X, y, attribute=a)
    np.testing.assert_array_equal(together[1].coef_, alone.coef_)


@pytest.mark.parametrize("probes", [[], [DFRProbe(), DFRProbe(repeats=5)]])
def test_probes_of_different_settings_are_refused(probes: list[DFRProbe]) -> None:
    X, y, a = features(100, 5)
    with pytest.raises(FttError, match="differ in more than random_state"):
        fit_together(probes, X, y, a)


def test_a_spectrum_of_other_rows_changes_the_path_and_not_the_solution() -> None:
    X, y, _ = features(300, 60)
    rows, C = [np.arange(150), np.arange(100, 300)], [1.0, 0.1]
    own = fit_many(X, y, rows, C, tol=1e-8)
    other = fit_many(X, y, rows, C, tol=1e-8, shared=replace(survey(X), spectrum=survey(5 * X[::-1, ::-1]).spectrum))
    assert other.converged.all()
    np.testing.assert_allclose(other.coef, own.coef, atol=1e-5)


def test_features_beyond_single_precision_are_probed_in_double() -> None:
    X, y, a = features(200, 10)
    assert not survey(1e30 * X).single
    assert DFRProbe(grid=[1e-60], tol=1e27).fit(1e30 * X, y, attribute=a).converged_


def test_features_that_never_fire_get_no_weight_but_all_of_them_are_refused() -> None:
    X, y, a = features(200, 10)
    X[:, 3] = 0.25
    assert DFRProbe().fit(X, y, attribute=a).coef_[0, 3] == pytest.approx(0, abs=1e-7)
    with pytest.raises(FttError, match="no feature varies") as caught:
        DFRProbe().fit(np.full((200, 10), 0.25), y, attribute=a)
    assert "10 features" in str(caught.value.given)


def test_equal_problems_are_solved_once_and_answered_each() -> None:
    X, y, _ = features(200, 20)
    rows = [np.arange(200), np.arange(199, -1, -1), np.arange(200), np.arange(100)]
    problems, place = distinct(check_problems(X, y, rows, [1.0, 1.0, 0.1, 1.0], 2))
    assert (len(problems.rows), place.tolist()) == (3, [0, 0, 1, 2])
    fits = fit_many(X, y, rows, [1.0, 1.0, 0.1, 1.0])
    np.testing.assert_array_equal(fits.coef[0], fits.coef[1])


def test_solutions_at_other_penalties_change_the_start_and_not_the_solution() -> None:
    X, y, _ = features(300, 60)
    C = [0.001, 0.01, 0.1, 1.0, 10.0]
    path = fit_many(X, y, [np.arange(150)] * 5, C, tol=1e-8)
    assert path.converged.all()
    for j in range(5):
        alone = fit_many(X, y, [np.arange(150)], C[j : j + 1], tol=1e-8)
        np.testing.assert_allclose(path.coef[j], alone.coef[0], atol=1e-5)


def test_a_path_shortens_the_way_to_a_weak_penalty() -> None:
    X, y, _ = features(400, 60)
    C = [0.001, 0.01, 0.1, 1.0, 10.0]
    path = fit_many(X, y, [np.arange(400)] * 5, C)
    alone = fit_many(X, y, [np.arange(400)], [10.0])
    assert path.iterations[-1] < alone.iterations[0]


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_that_gradients_are_judged_by_are_those_of_all_rows(classes: int) -> None:
    X, y, _ = features(300, 40, classes)
    X = X.astype(np.float32)
    rows, C = [np.arange(150), np.arange(150, 300)] * 3, [0.01, 0.01, 0.1, 0.1, 1.0, 1.0]
    fits = fit_many(X, y, rows, C, shared=survey(X))
    assert fits.scores is not None
    exact = np.einsum("jkd,nd->jkn", fits.coef, X.astype(np.float64)) + fits.intercept[:, :, None]
    # A softmax does not feel a common shift of its scores.
    shifts = [scores.mean(axis=1, keepdims=True) if classes > 2 else 0 for scores in (fits.scores, exact)]
    np.testing.assert_allclose(fits.scores - shifts[0], exact - shifts[1], atol=1e-4)
    # Rows that no problem lists have no scores, so there are none without a survey of all rows.
    assert fit_many(X, y, rows, C).scores is None


def test_a_start_shortens_the_way_and_does_not_change_the_solution() -> None:
    X, y, _ = features(300, 60)
    rows, C = [np.arange(300), np.arange(150)], [1.0, 1.0]
    first = fit_many(X, y, rows, C, tol=1e-8)
    solved = np.concatenate([first.coef, first.intercept[:, :, None]], axis=2)
    again = fit_many(X, y, rows, C, tol=1e-7, start=solved)
    assert again.iterations.tolist() == [0, 0]
    np.testing.assert_allclose(again.coef, first.coef, atol=1e-12)
    swapped = fit_many(X, y, rows, C, tol=1e-8, start=solved[::-1])
    np.testing.assert_allclose(swapped.coef, first.coef, atol=1e-5)


def test_averaged_fits_start_from_the_fits_of_the_halves_at_the_chosen_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, a = features(400, 60)
    calls: list[dict[str, Any]] = []

    def spied(*args: Any, start: Any, **settings: Any) -> Fits:
        found = fit_many(*args, start=start, **settings)
        calls.append({"start": start, "C": args[3], "fits": found})
        return found

    monkeypatch.setattr(solving, "fit_many", spied)
    probe = DFRProbe([10.0, 5.0], averages=2).fit(X, y, attribute=a)
    halves, samples = calls
    # What is judged on held-out rows has started from nothing that has seen them.
    assert halves["start"] is None
    own = [j for j, C in enumerate(halves["C"]) if probe.C_ == C]
    assert len(own) == 3
    np.testing.assert_array_equal(samples["start"][0, :, :-1], halves["fits"].coef[own].mean(axis=0))


def test_the_held_out_half_never_moves_a_solution() -> None:
    """Labels of the other half change its own fits only."""
    X, y, _ = features(200, 30)
    halves, C = [np.arange(100)] * 3 + [np.arange(100, 200)] * 3, [0.01, 0.1, 1.0] * 2
    flipped = np.where(np.arange(200) < 100, y, 1 - y)
    first, second = (fit_many(X, labels, halves, C) for labels in (y, flipped))
    np.testing.assert_allclose(first.coef[:3], second.coef[:3], atol=1e-6)
