"""The demo's table, chart and page say what the runs gave."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.planted import with_accuracies

from ftt.paper import demo_page
from ftt.paper.demo_claims import CLAIMS, SETTINGS, DemoRow, verdict
from ftt.paper.demo_page import COLUMNS, table
from ftt.report import charts, page

WORST = {"init": 0.74, "erm": 0.60, "ftt": 0.75}


@pytest.fixture
def lines() -> list[DemoRow]:
    return [
        DemoRow(noises, name, with_accuracies(worst, worst + 0.05), None if name == "init" else worst - WORST["init"])
        for noises in SETTINGS
        for name, worst in WORST.items()
    ]


def test_table_shows_every_run_with_its_gain_and_whether_the_papers_direction_showed(lines: list[DemoRow]) -> None:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in table(lines, "digits").rows if row]
    assert [row["worst group"] for row in rows] == ["74.0", "60.0", "75.0"] * 2
    assert [row["average"] for row in rows] == ["79.0", "65.0", "80.0"] * 2
    assert [row["against initial"] for row in rows] == ["", "−14.0", "+1.0"] * 2
    assert [row["shows here"] for row in rows] == ["", "yes", "yes", "", "NO", "NO"]


def test_verdict_counts_the_directions_that_showed(lines: list[DemoRow]) -> None:
    assert verdict(lines).startswith("2 of 4 ")
    result = lines[0].result
    gains = zip(CLAIMS, (-0.2, 0.0, 0.1, 0.01), strict=True)
    assert verdict([DemoRow(noises, name, result, gain) for (noises, name), gain in gains]).startswith("3 of 4")


def test_an_empty_row_separates_the_settings(lines: list[DemoRow]) -> None:
    assert [bool(row) for row in table(lines, "digits").rows] == [True] * 3 + [False] + [True] * 3


def test_chart_holds_worst_group_and_interval_of_every_run_as_points_since_its_axis_does_not_start_at_zero(
    lines: list[DemoRow],
) -> None:
    spec = charts.fragment(demo_page.chart(lines))
    (values,) = spec["datasets"].values() if "datasets" in spec else (spec["data"]["values"],)
    assert [round(row["worst"], 6) for row in values] == [74.0, 60.0, 75.0] * 2
    assert all(row["low"] < row["worst"] < row["high"] for row in values)
    marks = {layer["mark"]["type"]: layer["encoding"]["y"] for layer in spec["spec"]["layer"]}
    assert "bar" not in marks
    assert marks["point"]["scale"] == {"zero": False}
    assert marks["rule"]["field"] == "low"


def test_everything_is_written_into_one_folder(
    lines: list[DemoRow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "drawing_library", lambda: "")
    paths = demo_page.write(lines, "digits", tmp_path / "out")
    assert [path.name for path in paths] == ["demo.png", "demo.svg", "demo.html"]
    text = paths[-1].read_text()
    assert "2 of 4 of the paper" in text
    assert "−14.0" in text
