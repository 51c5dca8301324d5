"""Tables of texts say what results hold, on the terminal and in files."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from scipy.stats import ttest_1samp
from tests.planted import planted_report, planted_result, with_accuracies

from ftt.report.tables import TextTable, percent, result_table, seed_interval, seeds_table, signed

SMALL = TextTable("T", ("word", "number"), [["a", "1"], [], ["b", "2"]], left=1)


def printed(table: TextTable) -> str:
    sink = io.StringIO()
    Console(file=sink, width=120).print(table.to_rich())
    return sink.getvalue()


def test_numbers_are_printed_as_the_paper_does() -> None:
    assert percent(0.7416) == "74.2"
    assert signed(0.012) == "+1.2"
    assert signed(-0.012) == "−1.2"


def test_words_are_aligned_left_and_numbers_right() -> None:
    rows = [line.strip("│ ").split("│") for line in printed(SMALL).splitlines() if line.startswith("│")]
    assert [(word[:1], number[-1:]) for word, number in rows] == [("a", "1"), ("b", "2")]
    assert SMALL.to_markdown() == "**T**\n\n| word | number |\n|---|---:|\n| a | 1 |\n| b | 2 |\n"


def test_square_brackets_in_names_are_printed_and_not_taken_for_markup() -> None:
    text = printed(TextTable("[bold]title[/bold]", ("[red]word",), [["[/close] [link=x]y[/link]"]]))
    for part in ("[bold]title[/bold]", "[red]word", "[/close] [link=x]y[/link]"):
        assert part in text


def test_where_probe_seeds_disagree_on_the_worst_group_table_and_json_say_the_same() -> None:
    """Issue 11: the table said 70.0 and the JSON 60.0."""
    result = planted_result(
        planted_report({"left": 0.6, "right": 0.8}),
        planted_report({"left": 0.8, "right": 0.6}),
        planted_report({"left": 0.9, "right": 0.6}),
    )
    worst, average, *_ = result_table(result).rows
    assert worst[:2] == ["worst (right)", "66.7"]
    assert average[:2] == ["average", "71.7"]
    assert result.to_json()["worst_group"] == "right"
    assert result.to_json()["worst_group_accuracy"] == pytest.approx(2 / 3)
    assert result.worst_group_accuracy == pytest.approx(2 / 3)


def test_training_seeds_are_listed_with_their_mean_and_its_interval() -> None:
    results = [with_accuracies(worst, 0.8) for worst in (0.70, 0.74, 0.72)]
    table = seeds_table(results)
    first, *_, mean, interval = table.rows
    assert first[1:3] == ["70.0", "80.0"]
    assert mean[:3] == ["mean", "72.0", "80.0"]
    assert interval[:3] == ["95 % interval", "67.0 – 77.0", "80.0 – 80.0"]
    assert "3 training seeds" in table.title


def test_the_interval_of_a_mean_is_students() -> None:
    values = [0.70, 0.74, 0.72, 0.69]
    expected = ttest_1samp(values, 0).confidence_interval(0.95)
    assert seed_interval(values) == pytest.approx((expected.low, expected.high))
    assert seed_interval([0.1, 0.9]) == (0.0, 1.0)
