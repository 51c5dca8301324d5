"""The curves of Figure 4 and of the number of dimensions carry 95 % intervals."""

from __future__ import annotations

from typing import Any

import pytest
from scipy.stats import norm
from tests.report.test_cases import judged

from ftt.paper.experiment import Request
from ftt.paper.noise_tables import INITIAL, gain_findings
from ftt.paper.probe_dimensions import dims_findings
from ftt.paper.result_table import WORST, Cell, Measured, ResultTable
from ftt.report.charts import fragment
from ftt.result import Result
from ftt.store import Home


def cell(row: str, column: str, *results: Result) -> Measured:
    return Measured(Cell(row, column, tuple(result.spec for result in results)), results)


def points(chart: Any) -> list[dict[str, Any]]:
    """The rows of the curves of a chart."""
    spec = fragment(chart)
    tables = [spec.get("data"), *(layer.get("data") for layer in spec["layer"])]
    return next(table["values"] for table in tables if table and "curve" in table["values"][0])


def test_the_gain_of_figure_4_has_its_paired_interval() -> None:
    table = ResultTable(
        cell(row, f"{core:g}", judged(recipe, right, core=core))
        for core in (0.0, 0.1)
        for row, recipe, right in ((INITIAL, "init", 0.8), ("ERM", "erm", 0.7 if core else 0.9))
    )
    found = points(gain_findings(table, Request(dataset="dominoes"), Home.from_environment()).charts["fig4"])
    assert len(found) == 4
    assert all(row["low"] < row["y"] < row["high"] for row in found)
    assert all((row["low"] > 0) == (row["y"] > 0) for row in found)


def test_accuracies_over_dimensions_have_the_interval_of_their_test_rows() -> None:
    one = judged("init", 0.8)
    measured = cell("8", "a", one)
    low, high = measured.interval(WORST)
    rate = one.report.worst[1]
    assert low < rate.value < high
    assert high - low == pytest.approx(2 * norm.ppf(0.975) * (rate.value * (1 - rate.value) / rate.n) ** 0.5, rel=0.02)
    table = ResultTable([measured, cell("16", "a", one), cell("all", "a", one)])
    found = points(dims_findings(table, Request(dataset="dominoes"), Home.from_environment()).charts["fig-dims"])
    assert {(row["low"], row["high"]) for row in found} == {(100 * low, 100 * high)}
