"""Group accuracies agree with counting by hand and with fairlearn; intervals with Wilson's formula."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from fairlearn.metrics import MetricFrame
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score

from ftt.arrays import IntArray
from ftt.data import DatasetInfo
from ftt.errors import FttError
from ftt.metrics import GroupReport, Rate, crossed_groups, report_groups
from ftt.report.tables import result_table
from tests.planted import planted_report, planted_result

INFO = DatasetInfo("toy", ("no", "yes", "maybe"), ("left", "right", "never"), "three by three")

rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=60)


def columns(listed: list[tuple[int, int, int]]) -> tuple[IntArray, IntArray, IntArray]:
    predicted, truth, a = np.array(listed, dtype=np.int64).T
    return predicted, truth, a


@settings(deadline=None)
@given(rows)
def test_worst_and_average_are_what_counting_gives(listed: list[tuple[int, int, int]]) -> None:
    report = report_groups(*columns(listed), INFO)
    by_attribute = {}
    for code, name in enumerate(INFO.attributes):
        own = [predicted == truth for predicted, truth, a in listed if a == code]
        if own:
            by_attribute[name] = sum(own) / len(own)
    assert report.worst[1].value == min(by_attribute.values())
    assert by_attribute[report.worst[0]] == min(by_attribute.values())
    assert report.overall.value == sum(predicted == truth for predicted, truth, _ in listed) / len(listed)
    finer = {}
    for y, label in enumerate(INFO.classes):
        for code, name in enumerate(INFO.attributes):
            own = [predicted == truth for predicted, truth, a in listed if (truth, a) == (y, code)]
            if own:
                finer[label, name] = sum(own) / len(own)
    assert report.worst_of_label_and_attribute[1].value == min(finer.values())


@settings(deadline=None, max_examples=20)
@given(rows.filter(lambda listed: len(listed) > 1))
def test_groups_agree_with_fairlearn(listed: list[tuple[int, int, int]]) -> None:
    predicted, truth, a = columns(listed)
    frame = MetricFrame(metrics=accuracy_score, y_true=truth, y_pred=predicted, sensitive_features=a)
    report = report_groups(predicted, truth, a, INFO)
    assert report.overall.value == pytest.approx(frame.overall)
    assert report.worst[1].value == pytest.approx(frame.group_min())
    for code, value in frame.by_group.items():
        assert report.by_attribute[INFO.attributes[int(code)]].value == pytest.approx(value)


@settings(deadline=None)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_interval_agrees_with_scipy(counts: tuple[int, int]) -> None:
    right, n = counts
    expected = binomtest(right, n).proportion_ci(0.95, method="wilson")
    assert Rate(right, n).interval() == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_interval_of_eight_in_ten_is_the_textbook_one() -> None:
    z = 1.959963984540054
    root = z * math.sqrt(0.8 * 0.2 / 10 + z * z / 400)
    low, high = Rate(8, 10).interval()
    assert low == pytest.approx((0.8 + z * z / 20 - root) / (1 + z * z / 10))
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)


def test_interval_is_not_empty_at_the_ends_and_everything_for_nothing() -> None:
    assert Rate(0, 20).interval()[1] > 0.1
    assert Rate(20, 20).interval()[0] < 0.9
    assert Rate(0, 0).interval() == (0.0, 1.0)


def test_weighted_average_weighs_groups_not_rows() -> None:
    predicted, truth, a = np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]), np.array([0, 0, 0, 1])
    report = report_groups(predicted, truth, a, INFO)
    assert report.overall.value == 0.75
    assert report.weighted_average({("no", "left"): 1.0, ("no", "right"): 3.0}) == 0.25
    assert report.weighted_average({("no", "left"): 2.0, ("yes", "never"): 0.0}) == 1.0


@pytest.mark.parametrize(
    "weights",
    [{("yes", "left"): 1.0}, {("no", "left"): -1.0}, {("no", "left"): 0.0}, {}, {("no", "up"): 1.0}],
    ids=["empty group", "negative", "all zero", "none", "unknown group"],
)
def test_weights_without_a_meaning_are_refused(weights: dict[tuple[str, str], float]) -> None:
    report = report_groups(np.array([0]), np.array([0]), np.array([0]), INFO)
    with pytest.raises(FttError):
        report.weighted_average(weights)


def test_empty_group_is_neither_worst_nor_nan_in_json() -> None:
    report = report_groups(np.array([0, 1]), np.array([0, 0]), np.array([0, 1]), INFO)
    assert report.worst == ("right", Rate(0, 1))
    text = json.dumps(report.to_json(), allow_nan=False)
    assert json.loads(text)["by_group"]["never"] == {
        "accuracy": None,
        "right": 0,
        "n": 0,
        "low": 0.0,
        "high": 1.0,
    }
    assert "right" in str(report)


def test_result_with_an_empty_group_can_be_printed() -> None:
    report = report_groups(np.array([0, 1]), np.array([0, 0]), np.array([0, 1]), INFO)
    *_, last = result_table(planted_result(report)).rows
    assert last == ["maybe, never", "n/a", "", "0"]


reports = st.lists(st.fixed_dictionaries({name: st.floats(0, 1) for name in ("left", "right")}), min_size=1, max_size=5)


@settings(deadline=None)
@given(reports)
def test_the_worst_group_of_a_mean_is_the_worst_of_the_means(seeds: list[dict[str, float]]) -> None:
    mean = GroupReport.mean([planted_report(accuracies) for accuracies in seeds])
    means = {name: sum(accuracies[name] for accuracies in seeds) / len(seeds) for name in ("left", "right")}
    assert mean.worst[1].value == pytest.approx(min(means.values()))
    assert means[mean.worst[0]] == pytest.approx(min(means.values()))
    assert mean.overall.value == pytest.approx(sum(means.values()) / 2)


@settings(deadline=None)
@given(rows, st.booleans())
def test_a_report_reads_back_from_json(listed: list[tuple[int, int, int]], clean: bool) -> None:
    report = report_groups(*columns(listed), INFO, clean=clean)
    assert GroupReport.from_json(json.loads(json.dumps(report.to_json(), sort_keys=True))) == report


def test_report_says_when_labels_are_only_observed() -> None:
    values = np.array([0, 1]), np.array([0, 1]), np.array([0, 1])
    assert "observed labels" in str(report_groups(*values, INFO, clean=False))
    assert report_groups(*values, INFO, clean=False).to_json()["labels"] == "observed"
    assert report_groups(*values, INFO).to_json()["labels"] == "clean"


def test_lengths_that_differ_or_are_zero_are_refused() -> None:
    with pytest.raises(FttError, match="differ in length"):
        report_groups(np.array([0]), np.array([0, 1]), np.array([0, 1]), INFO)
    empty = np.array([], dtype=np.int64)
    with pytest.raises(FttError, match="no rows to report on"):
        report_groups(empty, empty, empty, INFO)


def learned_the_shortcut() -> GroupReport:
    """Dogs are mostly photos and horses mostly sketches; the classifier says dog to every photo."""
    info = DatasetInfo("animals", ("dog", "horse"), ("photo", "sketch"), "a shortcut")
    cells = {(0, 0): 73, (0, 1): 8, (1, 0): 7, (1, 1): 72}
    y = np.concatenate([np.full(n, label) for (label, _), n in cells.items()])
    a = np.concatenate([np.full(n, style) for (_, style), n in cells.items()])
    return report_groups(a, y, a, info)


def test_where_the_attribute_tells_the_label_the_headline_is_the_failing_cell() -> None:
    report = learned_the_shortcut()
    assert report.worst[1].value > 0.89
    name, rate = report.headline
    assert name in ("dog, sketch", "horse, photo")
    assert rate.value == 0
    assert report.to_json()["headline_accuracy"] == 0
    assert str(report).splitlines()[1].split()[-1] == str(rate.n)


def test_a_classifier_no_better_than_the_attribute_alone_is_called_that() -> None:
    remarks = " ".join(learned_the_shortcut().remarks())
    assert "no better than a rule that looks at the attribute alone" in remarks
    assert "fewer than 30 test rows: dog, sketch (8); horse, photo (7)" in remarks


def test_on_balanced_rows_the_headline_is_the_papers_worst_group() -> None:
    info = DatasetInfo("balanced", ("no", "yes"), ("left", "right"), "no shortcut")
    y, a = np.tile([0, 1], 100), np.repeat([0, 1], 100)
    report = report_groups(np.zeros(200, dtype=np.int64), y, a, info)
    assert report.balanced
    assert report.headline == report.worst
    assert report.attribute_only == 0.5
    assert report.remarks() == []


def test_crossed_groups_agree_with_fairlearn() -> None:
    from fairlearn.metrics import MetricFrame
    from sklearn.metrics import accuracy_score

    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    place, sex = rng.choice(["land", "water"], 200), rng.choice(["f", "m"], 200)
    found = {group.parts: group.rate for group in crossed_groups(predicted == truth, {"place": place, "sex": sex})}
    frame = MetricFrame(
        metrics=accuracy_score,
        y_true=truth,
        y_pred=predicted,
        sensitive_features={"place": place, "sex": sex},
    )
    assert len(found) == 8
    for (a, b), accuracy in frame.by_group.items():
        assert found[("place", a), ("sex", b)].value == pytest.approx(accuracy)


def test_groups_smaller_than_asked_for_and_deeper_crossings_are_left_out() -> None:
    columns = {"place": ["land", "land", "water"], "sex": ["f", "m", "m"], "age": ["old", "old", "old"]}
    assert {g.name for g in crossed_groups([1, 1, 0], columns, fewest=2, deepest=1)} == {
        "place = land",
        "sex = m",
        "age = old",
    }


def test_a_column_of_another_length_is_refused_by_name() -> None:
    with pytest.raises(FttError, match="'place' has another length"):
        crossed_groups([1, 0], {"place": ["land"]})
