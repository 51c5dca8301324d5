"""A Result is typed; its JSON is its written form and is read back."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ftt.result import Result
from ftt.spec import FORMAT
from tests.planted import planted_report, planted_result, with_accuracies

DISAGREE = planted_result(
    planted_report({"left": 0.6, "right": 0.8}),
    planted_report({"left": 0.8, "right": 0.6}),
    planted_report({"left": 0.9, "right": 0.6}),
)


def test_a_result_reads_back_from_its_json() -> None:
    text = json.loads(json.dumps(DISAGREE.to_json(), sort_keys=True, allow_nan=False))
    assert Result.from_json(text) == DISAGREE
    assert Result.from_json(text).to_json() == DISAGREE.to_json()


def test_json_names_its_format_and_run_and_has_every_probe_seed() -> None:
    text = DISAGREE.to_json()
    assert text["format"] == FORMAT
    assert text["run_id"] == DISAGREE.run.key[:16]
    seeds = DISAGREE.probes
    assert [probe.seed for probe in seeds] == [0, 1, 2]
    assert [probe.to_json()["worst_group"] for probe in seeds] == ["left", "right", "right"]


def test_figures_are_those_of_the_mean_over_probe_seeds() -> None:
    assert DISAGREE.worst_group == "right"
    assert DISAGREE.worst_group_accuracy == pytest.approx(2 / 3)
    # The mean of what each seed calls its worst group would be 0.6.
    assert DISAGREE.average_accuracy == pytest.approx((0.7 + 0.7 + 0.75) / 3)


def test_the_penalty_of_a_result_is_the_one_most_probe_seeds_chose() -> None:
    first, *others = DISAGREE.probes
    chosen = dataclasses.replace(DISAGREE, probes=(dataclasses.replace(first, C=10.0), *others))
    assert chosen.C == 0.1


def test_a_looked_up_result_is_equal_and_marked() -> None:
    result = with_accuracies(0.7, 0.8)
    assert result.looked_up() == result
    assert (result.from_store, result.looked_up().from_store) == (False, True)
    assert result.looked_up().to_json()["from_store"] is True


def test_a_frame_has_a_row_per_group_and_per_label_within_a_group() -> None:
    frame = with_accuracies(0.7, 0.8).to_frame()
    assert frame["group"].tolist() == ["left", "right"] * 3
    assert frame["label"].tolist()[2:] == ["no", "no", "yes", "yes"]
    assert frame["accuracy"].tolist()[:2] == pytest.approx([0.7, 0.9])
    assert frame["n"].tolist() == [400, 400, 200, 200, 200, 200]
