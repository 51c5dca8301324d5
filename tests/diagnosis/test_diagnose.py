"""The verdict: what is answered, and what is answered instead of a number where there is none."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ftt
from ftt.arrays import IntArray
from ftt.data import ArrayInputs, DatasetInfo, GroupedData
from ftt.diagnosis import Diagnosis, Target, Train, diagnose_arrays
from ftt.diagnosis.verdict import clean_accuracy, predicted_gain
from tests.diagnosis.test_noise import labelled

INFO = DatasetInfo("birds", ("land", "water"), ("forest", "sea"), "made up")


def shortcut(y: IntArray, noise: float, seed: int = 1) -> IntArray:
    """An attribute that follows the label but for a share of rows."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(y)) < noise, 1 - y, y)


def diagnosed(core: float, spurious: float, n: int = 2000, **changes: Any) -> Diagnosis:
    phi, y, a = labelled(n, core)
    _, train, _ = labelled(4000, core, seed=1)
    return diagnose_arrays(Train(train, shortcut(train, spurious)), replace(Target(phi, y, a, INFO), **changes))


def test_a_shortcut_cleaner_than_the_labels_makes_training_harm() -> None:
    found = diagnosed(0.2, 0.0)
    assert found.verdict.answer == "harms"
    assert found.verdict.gain is not None
    assert found.verdict.gain.high < 0
    assert "expected to harm" in found.headline


def test_labels_cleaner_than_the_shortcut_make_training_help() -> None:
    found = diagnosed(0.0, 0.3)
    assert found.verdict.answer == "helps"
    assert found.verdict.p == 0


def test_close_noises_cannot_be_told_and_the_rows_needed_are_named_where_rows_would_do() -> None:
    answers = {s: diagnosed(0.1, s, n=400).verdict for s in (0.05, 0.08, 0.1, 0.12)}
    assert any(v.answer == "cannot tell" for v in answers.values())
    told = [v for v in answers.values() if v.rows is not None]
    assert told
    assert all("target rows" in " ".join(v.reasons) for v in told)
    assert all(v.rows is not None and v.rows > 400 for v in told)


def test_an_attribute_unrelated_to_the_label_is_no_shortcut() -> None:
    found = diagnosed(0.1, 0.5)
    assert found.verdict.answer == "no shortcut"
    assert "alone misses" in found.verdict.reasons[0]


def test_a_small_target_split_gets_no_number() -> None:
    found = diagnosed(0.1, 0.0, n=16)
    assert found.verdict.answer == "no answer"
    assert found.core is None
    assert "too small" in found.verdict.reasons[0]


def test_a_missing_group_is_named() -> None:
    phi, y, a = labelled(1000, 0.1)
    kept = (y == 1) | (a == 0)
    found = diagnose_arrays(Train(y, y), Target(phi[kept], y[kept], a[kept], INFO))
    assert found.verdict.answer == "no answer"
    assert "sea (all water)" in found.verdict.reasons[0]


def test_an_attribute_value_that_only_training_has_is_named() -> None:
    phi, y, _ = labelled(400, 0.1)
    found = diagnose_arrays(Train(y, y), Target(phi, y, np.zeros_like(y), INFO))
    assert "no rows of the attribute value sea" in found.verdict.reasons[0]


@pytest.mark.parametrize("noise", [0.5, 0.47])
def test_labels_that_are_about_half_wrong_get_no_answer(noise: float) -> None:
    found = diagnosed(noise, 0.0)
    assert found.verdict.answer == "no answer"
    assert "half of the labels" in found.verdict.reasons[0] or "no better than random" in found.verdict.reasons[0]


def test_noise_above_one_half_is_declared_as_an_assumption() -> None:
    assert any("fewer than half of the labels" in note for note in diagnosed(0.7, 0.0).notes)


def test_noise_that_depends_on_the_row_is_noticed() -> None:
    rng = np.random.default_rng(0)
    core, a = rng.integers(0, 2, 6000), rng.integers(0, 2, 6000)
    z = 3 * (2 * core - 1) + rng.standard_normal(6000) * 1.5
    unsure = np.abs(z) < 3
    y = np.where(unsure & (rng.random(6000) < 0.45), 1 - core, core)
    found = diagnose_arrays(Train(y, y), Target(np.c_[z, a, rng.standard_normal((6000, 4))], y, a, INFO))
    assert any("does not fit" in note and "lower bound" in note for note in found.notes)


@pytest.mark.parametrize("classes", [10, pytest.param(65, marks=pytest.mark.slow)])
def test_many_classes_and_a_multi_valued_attribute_are_diagnosed(classes: int) -> None:
    phi, y, _ = labelled(40 * classes, 0.1, classes=classes, apart=6.0)
    rng = np.random.default_rng(2)
    values = tuple(f"place {i}" for i in range(classes))
    info = DatasetInfo("many", tuple(map(str, range(classes))), values, "made up")
    train = rng.integers(0, classes, 5000)
    found = diagnose_arrays(Train(train, train), Target(phi, y, rng.integers(0, classes, len(y)), info))
    assert found.core is not None
    assert found.core.low <= 0.1 <= found.core.high
    assert found.verdict.answer == "harms"


def many(classes: int, rows: int, values: int) -> tuple[Target, Train]:
    """Many classes, an attribute of several values, and training labels that it tells."""
    phi, y, _ = labelled(rows, 0.1, classes=classes, apart=6.0)
    info = DatasetInfo("many", tuple(map(str, range(classes))), tuple(f"place {i}" for i in range(values)), "made up")
    rng = np.random.default_rng(2)
    train = rng.integers(0, classes, 5000)
    return Target(phi, y, rng.integers(0, values, len(y)), info), Train(train, train % values)


def test_of_65_classes_those_with_too_few_rows_are_named_and_no_number_is_given() -> None:
    target, train = many(65, 400, 4)
    found = diagnose_arrays(train, target)
    assert found.verdict.answer == "no answer"
    assert found.core is None
    assert "fewer than 10 rows of 0 (" in found.verdict.reasons[0]


def test_of_a_multi_valued_attribute_the_value_without_other_labels_is_named() -> None:
    target, train = many(3, 600, 5)
    y = np.where(target.a == 3, 1, target.y)
    found = diagnose_arrays(train, replace(target, y=y))
    assert found.verdict.answer == "no answer"
    assert "place 3 (all 1)" in found.verdict.reasons[0]


@pytest.mark.parametrize(
    ("words", "core", "spurious", "rows"),
    [("no shortcut in this attribute", 0.1, 0.5, 2000), ("no answer", 0.1, 0.0, 16), ("no answer", 0.5, 0.0, 2000)],
)
def test_an_answer_that_cannot_be_given_has_words_and_no_gain(
    words: str, core: float, spurious: float, rows: int
) -> None:
    found = diagnosed(core, spurious, n=rows)
    assert found.verdict.gain is None
    assert not found.verdict.sure
    assert words in found.headline
    assert all(line in str(found) for line in found.sentences())
    assert found.headline in json.dumps(found.chart().to_dict(), ensure_ascii=False)


def test_the_predicted_attribute_gives_the_noise_that_the_given_one_gives() -> None:
    phi, y, a = labelled(2000, 0.1)
    rng = np.random.default_rng(3)
    follows = shortcut(y, 0.1)
    seen = phi.copy()
    seen[:, 2] = follows + 0.5 * rng.standard_normal(2000)
    blurred = phi.copy()
    blurred[:, 2] = a + 0.5 * rng.standard_normal(2000)
    target = Target(blurred, y, a, INFO)
    given, predicted = (diagnose_arrays(t, target).spurious for t in (Train(y, follows), Train(y, phi=seen)))
    assert given is not None
    assert predicted is not None
    assert abs(given.value - predicted.value) < 0.03
    assert predicted.low <= given.value <= predicted.high


class Tripwire(np.ndarray[Any, np.dtype[np.int64]]):
    """An array that must not be looked at."""

    def __array_finalize__(self, other: Any) -> None:
        pass

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a label behind glass was looked at")

    def __array_function__(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a label behind glass was looked at")

    def __getitem__(self, key: Any) -> Any:
        raise AssertionError("a label behind glass was looked at")


def as_data(core: float = 0.2) -> GroupedData:
    phi, y, a = labelled(1200, core)
    split = np.repeat(["train", "val", "test"], 400)
    a[:400] = y[:400]
    return GroupedData(ArrayInputs(phi.astype(np.float32), "features"), y, a, split, INFO, y_clean=y.copy())


def test_clean_labels_and_test_rows_are_never_looked_at() -> None:
    data = as_data()
    found = ftt.diagnose(data)
    object.__setattr__(data, "y_clean", data.y_clean.view(Tripwire) if data.y_clean is not None else None)
    assert ftt.diagnose(data) == found
    test = np.flatnonzero(data.split == "test")
    y, a = data.y.copy(), data.a.copy()
    y[test], a[test] = 0, 1 - a[test]
    assert ftt.diagnose(replace(as_data(), y=y, a=a)) == found


def test_the_test_split_is_never_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    given, asked = GroupedData.__getitem__, []

    def watched(self: GroupedData, name: str) -> Any:
        asked.append(name)
        return given(self, name)  # type: ignore[call-overload]

    monkeypatch.setattr(GroupedData, "__getitem__", watched)
    ftt.diagnose(as_data())
    assert set(asked) == {"train", "val"}


def test_the_attribute_of_the_training_split_is_not_read_where_it_is_predicted() -> None:
    data = as_data()
    train = np.flatnonzero(data.split == "train")
    a = data.a.copy()
    a[train] = np.random.default_rng(0).integers(0, 2, len(train))
    first, second = (ftt.diagnose(d, predict_attribute=True) for d in (data, replace(as_data(), a=a)))
    assert first == second


def test_what_is_printed_framed_and_written_are_the_same_numbers() -> None:
    found = diagnosed(0.1, 0.0)
    assert found.core is not None
    written = json.loads(json.dumps(found.to_json()))
    assert written["core_noise"]["value"] == found.core.value
    assert written["verdict"]["answer"] == "harms"
    frame = found.to_frame().set_index("quantity")
    assert frame.loc["core_noise", "value"] == found.core.value
    assert f"{100 * found.core.value:.1f}" in str(found)
    assert "<table>" in found._repr_html_()
    assert found.headline in json.dumps(found.chart().to_dict(), ensure_ascii=False)


def test_names_from_data_are_escaped_in_html() -> None:
    info = replace(INFO, name="<script>alert(1)</script>")
    assert "<script>" not in diagnosed(0.1, 0.0, info=info)._repr_html_()


def test_the_predicted_gain_rises_with_spurious_and_falls_with_core_noise() -> None:
    levels = np.linspace(0, 0.45, 10)
    gains = np.array([[predicted_gain(c, s, 0.8) for s in levels] for c in levels])
    assert (np.diff(gains, axis=1) > 0).all()
    assert (np.diff(gains, axis=0) < 0).all()
    assert gains.max() <= 0.2
    assert gains.min() >= -0.3


def test_clean_accuracy_undoes_the_noise() -> None:
    for classes, noise, accuracy in ((2, 0.2, 0.8), (10, 0.3, 0.7)):
        observed = accuracy * (1 - noise) + (1 - accuracy) * noise / (classes - 1)
        assert clean_accuracy(observed, noise, classes) == pytest.approx(accuracy)
