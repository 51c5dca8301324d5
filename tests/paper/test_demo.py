"""The demo's table, chart and page say what the runs gave."""

from __future__ import annotations

from pathlib import Path

import pytest

from ftt.experiments.demo import CLAIMS, RECIPES, SETTINGS, Row, specs, verdict
from ftt.report import charts, demo, page

WORST = {"init": 0.74, "erm": 0.60, "ftt": 0.75}


@pytest.fixture
def lines() -> list[Row]:
    rows = []
    for setting in SETTINGS:
        for recipe, worst in WORST.items():
            result = {
                "worst_group_accuracy": worst,
                "average_accuracy": worst + 0.05,
                "worst_group_interval": [worst - 0.03, worst + 0.03],
            }
            rows.append(Row(setting, recipe, result, None if recipe == "init" else worst - WORST["init"]))
    return rows


def test_table_shows_every_run_with_its_gain_and_whether_the_papers_direction_showed(lines: list[Row]) -> None:
    rows = [dict(zip(demo.COLUMNS, row, strict=True)) for row in demo.cells(lines, RECIPES) if row]
    assert [row["worst group"] for row in rows] == ["74.0", "60.0", "75.0"] * 2
    assert [row["against initial"] for row in rows] == ["", "−14.0", "+1.0"] * 2
    assert [row["shows here"] for row in rows] == ["", "yes", "yes", "", "NO", "NO"]


def test_verdict_counts_the_directions_that_showed(lines: list[Row]) -> None:
    assert verdict(lines).startswith("2 of 4 ")


def test_an_empty_row_separates_the_settings(lines: list[Row]) -> None:
    assert [bool(row) for row in demo.cells(lines, RECIPES)] == [True] * 3 + [False] + [True] * 3


def test_chart_holds_worst_group_and_interval_of_every_run_as_points_since_its_axis_does_not_start_at_zero(
    lines: list[Row],
) -> None:
    spec = charts.fragment(demo.chart(lines, RECIPES))
    (values,) = spec["datasets"].values() if "datasets" in spec else (spec["data"]["values"],)
    assert [round(row["worst"], 6) for row in values] == [74.0, 60.0, 75.0] * 2
    assert all(row["low"] < row["worst"] < row["high"] for row in values)
    marks = {layer["mark"]["type"]: layer["encoding"]["y"] for layer in spec["spec"]["layer"]}
    assert "bar" not in marks
    assert marks["point"]["scale"] == {"zero": False}
    assert marks["rule"]["field"] == "low"


def test_everything_is_written_into_one_folder(
    lines: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "drawing_library", lambda: "")
    paths = demo.write(lines, RECIPES, "digits", verdict(lines), tmp_path / "out")
    assert [path.name for path in paths] == ["demo.png", "demo.svg", "demo.html"]
    text = paths[-1].read_text()
    assert "2 of 4 of the paper" in text
    assert "−14.0" in text


def test_runs_of_the_demo_differ_only_in_noise_and_recipe() -> None:
    for dataset in ("digits", "dominoes"):
        listed = specs(dataset)
        assert [(setting, recipe) for setting, recipe, _ in listed] == [(s, r) for s in SETTINGS for r in RECIPES]
        assert len({spec.key for *_, spec in listed}) == 6
        assert len({str(spec.train.describe()) for *_, spec in listed}) == 1
    assert set(CLAIMS) == {(setting, recipe) for setting in SETTINGS for recipe in ("erm", "ftt")}
