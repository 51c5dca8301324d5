"""Cells of a table: mean, standard error, seeds, and the paper's number beside them."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from tests.planted import with_accuracies

from ftt.paper import printed_numbers as paper
from ftt.paper.result_table import AVERAGE, WORST, Cell, Measured, ResultTable

TEX = Path(__file__).parents[3] / "shared" / "paper" / "freeze-then-train.tex"


def test_a_cell_says_mean_error_seeds_paper_and_difference() -> None:
    cell = Cell("ERM", "core 0%", (), paper.Printed(worst=90.0))
    measured = Measured(cell, tuple(with_accuracies(worst, 0.8, probe_seeds=5) for worst in (0.70, 0.74, 0.75)))
    error = 100 * math.sqrt(((0.03) ** 2 + 0.01**2 + 0.02**2) / 2) / math.sqrt(3)
    assert measured.text(WORST) == f"73.0 ± {error:.1f} (3×5); paper 90.0, −17.0"
    assert measured.text(AVERAGE) == "80.0 ± 0.0 (3×5)"


def test_one_seed_has_no_error_and_a_failed_cell_says_so() -> None:
    assert Measured(Cell("a", "b", ()), (with_accuracies(0.5, 0.6),)).text(WORST) == "50.0 (1×1)"
    assert Measured(Cell("a", "b", ()), ()).text(WORST) == "missing"


def test_a_place_without_a_cell_is_a_dash_and_has_no_mean() -> None:
    places = (("a", "x"), ("b", "y"))
    table = ResultTable(Measured(Cell(row, column, ()), (with_accuracies(0.5, 0.75),)) for row, column in places)
    assert table.texts(WORST).rows == [["a", "50.0 (1×1)", "–"], ["b", "–", "50.0 (1×1)"]]
    assert table.mean("a", "y") is None
    assert table.gain("a", "b", "x") is None


def test_a_gain_is_the_difference_of_means_in_one_column() -> None:
    results = {"init": with_accuracies(0.5, 0.75), "erm": with_accuracies(0.6, 0.7)}
    table = ResultTable(Measured(Cell(row, "x", ()), (result,)) for row, result in results.items())
    assert table.gain("erm", "init", "x") == pytest.approx(0.1)
    assert table.gain("erm", "init", "x", AVERAGE) == pytest.approx(-0.05)


@pytest.mark.parametrize(
    ("dataset", "means"),
    [
        ("waterbirds", {"erm": 91.4, "irm": 91.7, "cvar-dro": 85.7, "jtt": 86.0, "ftt": 93.1}),
        ("celeba", {"erm": 94.2, "irm": 94.2, "cvar-dro": 91.9, "jtt": 90.4, "ftt": 94.5}),
    ],
)
def test_the_transcribed_main_table_has_the_means_the_paper_prints(dataset: str, means: dict[str, float]) -> None:
    for method, printed in means.items():
        values = [paper.main_table(dataset, method, noise).worst for noise in paper.NOISES]
        assert all(value is not None for value in values)
        # The paper averages before it rounds.
        assert sum(v for v in values if v is not None) / 6 == pytest.approx(printed, abs=0.15)


@pytest.mark.parametrize(
    ("dataset", "means"),
    [
        ("pacs", {"erm": 91.7, "irm": 72.4, "group-dro": 93.0, "ftt": 94.1}),
        ("officehome", {"erm": 76.6, "irm": 48.3, "group-dro": 78.6, "ftt": 79.4}),
        ("vlcs", {"erm": 83.3, "irm": 64.4, "group-dro": 83.5, "ftt": 85.6}),
    ],
)
def test_the_transcribed_shift_table_has_the_means_the_paper_prints(dataset: str, means: dict[str, float]) -> None:
    for method, printed in means.items():
        values = [paper.shift_table(dataset, method, domain).average for domain in paper.domains(dataset)]
        assert sum(v for v in values if v is not None) / 4 == pytest.approx(printed, abs=0.1)


@pytest.mark.skipif(not TEX.is_file(), reason="the paper's source is not beside this checkout")
def test_every_row_of_the_table_over_p_is_in_the_papers_source() -> None:
    source = re.sub(r"\\textbf\{\s*([\d.]+)\s*\}", r"\1", TEX.read_text())
    for dataset in ("waterbirds", "celeba"):
        for noise in paper.NOISES:
            cells = [paper.p_table(dataset, p, noise) for p in paper.FRACTIONS]
            worst, average = ([getattr(cell, kind) for cell in cells] for kind in ("worst", "average"))
            row = r"\s*&\s*".join([f"{100 * noise:.0f}", *map(str, worst)]) + r"\s*&\s*&\s*"
            row += r"\s*&\s*".join(map(str, average))
            assert re.search(row, source), (dataset, noise)
