"""The probing protocol: balanced, halved, judged on what it did not see, averaged."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from ftt.errors import FttError
from ftt.probe import dfr, protocol, solving
from ftt.probe.dfr import DFRProbe
from ftt.probe.judging import Judged, judge
from ftt.probe.logistic import Fits, fit_many
from ftt.probe.protocol import balanced

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
GRID = (1.0, 0.1, 0.01)


def planted(n: int = 300, seed: int = 0, rare: float = 0.3) -> tuple[Floats, Ints, Ints]:
    """A weak core feature and a strong shortcut that agrees with the label in most rows; a rarer second group."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    a = (rng.random(n) < rare).astype(np.int64)
    X = np.c_[y + 0.6 * rng.standard_normal(n), a * (2 * y - 1) + 0.3 * rng.standard_normal(n), rng.standard_normal(n)]
    return X, y, a


def worst(predicted: Ints, y: Ints, a: Ints) -> float:
    return float(min((predicted == y)[a == value].mean() for value in np.unique(a)))


@settings(deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(0, 2**32 - 1))
def test_balanced_sample_takes_the_smallest_count_of_every_group_without_repeats(sizes: list[int], seed: int) -> None:
    groups = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    sample = balanced(groups, np.random.default_rng(seed))
    assert np.bincount(groups[sample]).tolist() == [min(sizes)] * len(sizes)
    assert len(np.unique(sample)) == len(sample)


class Spy:
    """Stands for `fit_many` and remembers what it was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[list[Ints], list[float]]] = []
        monkeypatch.setattr(solving, "fit_many", self)

    def __call__(self, X: Any, y: Any, rows: list[Ints], C: list[float], **options: Any) -> Fits:
        self.calls.append((rows, C))
        return fit_many(X, y, rows, C, **options)


def test_protocol_makes_repeats_times_grid_fits_and_then_the_averaged_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(monkeypatch)
    X, y, a = planted()
    probe = DFRProbe(grid=GRID, repeats=3, averages=10).fit(X, y, attribute=a)
    (halves, halves_C), (samples, samples_C) = spy.calls
    assert halves_C == list(GRID) * 3
    assert samples_C == [probe.C_] * 10
    rare = int(a.sum())
    assert {len(rows) for rows in halves} == {rare}
    assert all(np.bincount(a[rows]).tolist() == [rare, rare] for rows in samples)
    assert len({tuple(rows) for rows in halves}) == 3
    assert len({tuple(sorted(rows)) for rows in samples}) == 10


def test_wide_grid_is_the_papers_and_goes_on_downwards() -> None:
    assert dfr.WIDE_GRID[:7] == dfr.PAPER_GRID == (10, 5, 1, 0.5, 0.1, 0.05, 0.01)
    assert max(dfr.WIDE_GRID[7:]) < 0.01


def test_half_that_judges_is_never_in_the_fit_it_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    spy, seen = Spy(monkeypatch), list[list[tuple[Ints, Ints]]]()

    def watch(scores: Any, y: Any, groups: Any, halves: Any, *rest: Any) -> Judged:
        seen.append(halves)
        return judge(scores, y, groups, halves, *rest)

    monkeypatch.setattr(protocol, "judge", watch)
    X, y, a = planted()
    DFRProbe(grid=GRID).fit(X, y, attribute=a)
    for repeat, (first, second) in enumerate(seen[0]):
        assert not set(first) & set(second)
        assert abs(len(first) - len(second)) <= 1
        for rows in spy.calls[0][0][3 * repeat : 3 * repeat + 3]:
            assert set(rows) == set(first)


def test_ties_keep_the_larger_value_of_the_grid() -> None:
    rng = np.random.default_rng(0)
    y, a = np.arange(80) % 2, np.arange(80) // 2 % 2
    X = np.c_[10.0 * y + 0.01 * rng.standard_normal(80)]
    probe = DFRProbe(grid=(0.5, 5.0, 1.0)).fit(X, y, attribute=a)
    assert set(probe.worst_by_C_.values()) == {1.0}
    assert probe.C_ == 5.0


def test_choice_at_the_small_end_of_the_grid_is_said() -> None:
    X, y, a = planted(200)
    noise = np.random.default_rng(1).standard_normal((200, 100))
    probe = DFRProbe(grid=(10.0, 1e-3)).fit(np.c_[X, 3 * noise], y, attribute=a)
    assert probe.at_edge_ == (probe.C_ == 1e-3)
    assert not DFRProbe(grid=(1.0,)).fit(X, y, attribute=a).at_edge_


def by_hand(
    X: Floats, y: Ints, a: Ints, grid: tuple[float, ...], seed: int
) -> tuple[float, Floats, float, dict[float, float]]:
    """The protocol as the paper describes it, in plain scikit-learn, drawing from the same generator."""
    rng = np.random.default_rng(seed)

    def sample() -> Ints:
        size = min(int((a == value).sum()) for value in (0, 1))
        rows = np.concatenate([rng.choice(np.flatnonzero(a == value), size, replace=False) for value in (0, 1)])
        return rng.permutation(rows)

    def model(rows: Ints, C: float) -> LogisticRegression:
        return LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10).fit(X[rows], y[rows])

    scores: dict[float, list[float]] = {C: [] for C in grid}
    for _ in range(3):
        rows = sample()
        first, second = np.split(rows, [len(rows) // 2])
        for C in grid:
            scores[C].append(worst(model(first, C).predict(X[second]), y[second], a[second]))
    means = {C: float(np.mean(values)) for C, values in scores.items()}
    best = max(C for C in grid if means[C] == max(means.values()))
    models = [model(sample(), best) for _ in range(10)]
    coef = np.mean([m.coef_ for m in models], axis=0)
    return best, coef, float(np.mean([m.intercept_ for m in models])), means


@pytest.mark.parametrize("seed", [0, 1])
def test_result_is_that_of_the_protocol_written_out_in_scikit_learn(seed: int) -> None:
    X, y, a = planted(seed=seed)
    C, coef, intercept, means = by_hand(X, y, a, dfr.PAPER_GRID, seed)
    probe = DFRProbe(grid="paper", tol=1e-8, random_state=seed).fit(X, y, attribute=a)
    assert probe.C_ == C
    assert probe.worst_by_C_ == pytest.approx(means)
    np.testing.assert_allclose(probe.coef_, coef, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(probe.intercept_, [intercept], rtol=1e-4, atol=1e-6)
    assert probe.converged_


def test_same_seed_gives_the_same_bits_and_another_seed_others() -> None:
    X, y, a = planted()
    coefs = [DFRProbe(grid=GRID, random_state=seed).fit(X, y, attribute=a).coef_ for seed in (3, 3, 4)]
    np.testing.assert_array_equal(coefs[0], coefs[1])
    assert (coefs[0] != coefs[2]).any()


def test_balancing_beats_a_plain_fit_where_one_group_is_rare() -> None:
    """In the common group the shortcut says the label, in the rare one its opposite."""
    rng = np.random.default_rng(0)

    def draw(n: int, rare: float) -> tuple[Floats, Ints, Ints]:
        y, a = rng.integers(0, 2, n), (rng.random(n) < rare).astype(np.int64)
        shortcut = (2 * y - 1) * np.where(a == 1, -1, 1)
        return np.c_[y + 0.8 * rng.standard_normal(n), shortcut + 0.5 * rng.standard_normal(n)], y, a

    X, y, a = draw(1500, 0.05)
    test_X, test_y, test_a = draw(2000, 0.5)
    probe = DFRProbe(grid="paper").fit(X, y, attribute=a)
    plain = LogisticRegression().fit(X, y)
    assert worst(probe.predict(test_X), test_y, test_a) > worst(plain.predict(test_X), test_y, test_a) + 0.3


def test_three_classes_and_string_labels_work() -> None:
    rng = np.random.default_rng(0)
    codes, a = rng.integers(0, 3, 300), rng.integers(0, 2, 300)
    X = np.eye(3)[codes] + 0.2 * rng.standard_normal((300, 3))
    y = np.array(["ant", "bee", "cow"])[codes]
    probe = DFRProbe(grid=GRID).fit(X, y, attribute=a)
    assert probe.coef_.shape == (3, 3)
    assert probe.score(X, y) > 0.95
    np.testing.assert_allclose(probe.predict_proba(X).sum(axis=1), 1)


def test_attribute_value_with_too_few_rows_is_named() -> None:
    X, y, _ = planted(60)
    a = np.array(["sea"] * 57 + ["ice"] * 3)
    with pytest.raises(FttError, match="'ice' has too few rows to balance") as caught:
        DFRProbe().fit(X, y, attribute=a)
    assert caught.value.given == "3 rows"


@pytest.mark.parametrize(
    ("options", "change", "words"),
    [
        ({}, {"y": np.zeros(60, dtype=int)}, "one class only"),
        ({}, {"attribute": np.zeros(5)}, "differ in length"),
        ({"grid": "wid"}, {}, "did you mean 'wide'"),
        ({"grid": ()}, {}, "'grid'"),
        ({"grid": (1.0, -1.0)}, {}, "'grid'"),
        ({"grid": (1.0, np.inf)}, {}, "'grid'"),
        ({"grid": (1.0, "C")}, {}, "'grid'"),
        ({"repeats": 0}, {}, r"'repeats' of DFRProbe\n +given: +0\n +allowed: an int in the range \[1, 10000\]"),
        ({"repeats": 2.5}, {}, "'repeats'"),
        ({"averages": 0}, {}, "'averages'"),
        ({"max_iter": 0}, {}, "'max_iter'"),
        ({"tol": np.inf}, {}, "'tol'"),
        ({"tol": np.nan}, {}, "'tol'"),
        ({"scale": "yes"}, {}, "'scale'"),
        ({"random_state": -1}, {}, "'random_state'"),
        ({"random_state": "0"}, {}, "'random_state'"),
        ({}, {"attribute": np.zeros((60, 2))}, r"one-dimensional\n.*shape \(60, 2\)"),
        ({}, {"attribute": 3}, r"one-dimensional\n +given: +3"),
        ({}, {"attribute": [None, *range(59)]}, "missing values\n.*row 0"),
        ({}, {"attribute": [0.0, float("nan"), *range(58)]}, "missing values\n.*row 1"),
        ({}, {"attribute": np.array([0, "a"] * 30, dtype=object)}, "mixes types\n.*int, str"),
    ],
)
def test_wrong_call_is_refused_in_words(options: dict[str, Any], change: dict[str, Any], words: str) -> None:
    X, y, a = planted(60)
    given: dict[str, Any] = {"y": y, "attribute": a, **change}
    with pytest.raises(FttError, match=words):
        DFRProbe(**options).fit(X, given["y"], attribute=given["attribute"])


def test_class_that_no_half_can_hold_is_an_error_not_an_endless_loop() -> None:
    X, a = np.random.default_rng(0).standard_normal((5000, 2)), np.repeat(["common", "rare"], [4990, 10])
    y = np.array(["cat"] * 4999 + ["ox"])
    y[0], y[-1] = "ox", "cat"
    with pytest.raises(FttError, match="contains every class") as caught:
        DFRProbe(grid=GRID).fit(X, y, attribute=a)
    assert caught.value.given == "1 rows of class 'ox', 5000 rows in all"


def test_sample_that_lacks_a_rare_class_is_drawn_again() -> None:
    X, a = np.random.default_rng(0).standard_normal((60, 2)), np.repeat([0, 1], [40, 20])
    y = np.zeros(60, dtype=int)
    y[:2] = 1
    for seed in range(5):
        assert DFRProbe(grid=[1.0], random_state=seed).fit(X, y, attribute=a).converged_


def test_small_group_of_label_and_attribute_is_named_by_both_values() -> None:
    X, y, _ = planted(60)
    y, a = np.where(y == 1, 9, 5), np.where(np.arange(60) < 30, "ice", "sea")
    a[y == 9] = "ice"
    a[np.flatnonzero(y == 9)[0]] = "sea"
    with pytest.raises(FttError, match="label '9' and attribute value 'sea' has too few rows"):
        DFRProbe(groups="label-attribute").fit(X, y, attribute=a)


def test_random_state_means_what_it_means_in_scikit_learn() -> None:
    X, y, a = planted(60)

    def coef(random_state: Any) -> Floats:
        found: Floats = DFRProbe(grid=[1.0], random_state=random_state).fit(X, y, attribute=a).coef_
        return found

    for one in (coef, lambda s: coef(np.random.RandomState(s)), lambda s: coef(np.random.default_rng(s))):
        np.testing.assert_array_equal(one(3), one(3))
    np.testing.assert_array_equal(coef(np.int64(3)), coef(3))
    shared = np.random.RandomState(0)
    assert (coef(shared) != coef(shared)).any()
    assert (coef(None) != coef(None)).any()


def test_iterations_end_at_max_iter_with_a_warning() -> None:
    X, y, a = planted()
    with pytest.warns(solving.NotConvergedWarning, match="did not converge"):
        stopped = DFRProbe(grid=GRID, max_iter=2, tol=1e-9).fit(X, y, attribute=a)
    assert not stopped.converged_
    assert stopped.n_iter_ == 2
    assert 2 < DFRProbe(grid=GRID, tol=1e-9).fit(X, y, attribute=a).n_iter_ < 1000


def test_l1_over_four_groups_is_dfrs_own_protocol() -> None:
    """Balanced over label and attribute, features scaled, weights of useless features exactly zero."""
    rng = np.random.default_rng(0)
    a, y = rng.integers(0, 2, 600), rng.integers(0, 2, 600)
    X = np.c_[y + 0.4 * rng.standard_normal(600), 50 * a, rng.standard_normal((600, 10))]
    own = {"penalty": "l1", "groups": "label-attribute", "scale": True, "repeats": 1}
    assert DFRProbe(grid="dfr", averages=4, **own).fit(X, y, attribute=a).score(X, y) > 0.85  # type: ignore[arg-type]
    strong = DFRProbe(grid=[0.02], averages=1, **own).fit(X, y, attribute=a).coef_[0]  # type: ignore[arg-type]
    assert strong[0] > 0
    assert (strong[2:] == 0).sum() >= 8


def test_scaling_gives_weights_on_the_features_as_they_came() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    X = np.c_[1000 * (y + rng.standard_normal(300)), 0.001 * rng.standard_normal(300), np.zeros(300)]
    probe = DFRProbe(grid=[1.0], scale=True, averages=2).fit(X, y)
    by_hand = X / np.array([X[:, 0].std(), X[:, 1].std(), 1])
    same = DFRProbe(grid=[1.0], averages=2).fit(by_hand, y)
    np.testing.assert_allclose(probe.decision_function(X), same.decision_function(by_hand), atol=1e-6)


@pytest.mark.parametrize(("option", "value"), [("penalty", "l3"), ("groups", "both"), ("grid", "fine")])
def test_unknown_options_are_named(option: str, value: str) -> None:
    X, y = np.random.default_rng(0).standard_normal((40, 3)), np.arange(40) % 2
    with pytest.raises(FttError, match=value):
        DFRProbe(**{option: value}).fit(X, y, attribute=y)  # type: ignore[arg-type]


def test_averaged_samples_hold_every_class_however_small_the_groups_are() -> None:
    """Ten classes, five attribute values, the smallest with 12 rows: a sample misses a class once in a while."""
    from ftt.probe.protocol import draw_rows

    y, a = np.arange(500) % 10, np.minimum(np.arange(500) // 120, 4)
    a[np.flatnonzero(a == 4)[12:]] = 0
    for seed in range(40):
        drawn = draw_rows(y, a, 3, 10, seed)
        assert all(len(np.unique(y[rows])) == 10 for rows in drawn.samples)
        assert all(len(np.unique(y[first])) == 10 for first, _ in drawn.halves)
