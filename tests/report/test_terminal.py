"""Tables on narrow terminals: nothing is wider than the terminal, and nothing is lost."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from ftt.report.tables import TextTable

RUNS = TextTable(
    "3 rows",
    ("run_id", "dataset", "recipe", "data.core_noise", "worst_group_accuracy", "average_accuracy"),
    [[f"{n:016x}", "dominoes", "initial-taught", "0.2", "0.9125", "0.9425"] for n in range(3)],
    left=3,
)


def drawn(table: TextTable, width: int) -> str:
    out = io.StringIO()
    Console(file=out, width=width, markup=False, highlight=False).print(table.to_rich())
    return out.getvalue()


@pytest.mark.parametrize("width", [160, 100, 80, 60, 40])
def test_a_table_fits_the_terminal_and_keeps_every_cell(width: int) -> None:
    text = drawn(RUNS, width)
    assert max(map(len, text.splitlines())) <= width
    for cell in (cell for row in RUNS.rows for cell in row):
        assert cell in text


def test_where_there_is_room_the_table_is_framed_and_headers_are_whole() -> None:
    text = drawn(RUNS, 160)
    assert "┏" in text
    assert "worst_group_accuracy" in text


def test_headers_are_broken_between_words_before_anything_else_changes() -> None:
    text = drawn(RUNS, 90)
    assert "┏" in text
    assert "worst_group_accuracy" not in text
    assert "accuracy" in text


def test_where_no_table_fits_every_row_becomes_lines() -> None:
    lines = drawn(RUNS, 40).splitlines()
    assert "worst_group_accuracy  0.9125" in lines
    assert sum(line.startswith("run_id") for line in lines) == 3


def test_markup_in_cells_is_shown() -> None:
    assert "[text]" in drawn(TextTable("", ("a",), [["[text]"]]), 80)
