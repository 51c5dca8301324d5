"""Cells of a table, each a Spec per training seed, and their results: mean ± standard error, the paper's beside it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from ftt.paired import Judgement, judgement
from ftt.paper.printed_numbers import NOT_PRINTED, Printed
from ftt.report.tables import TextTable, one_class, percent, seed_interval, signed
from ftt.result import Result
from ftt.spec import Spec

WORST, AVERAGE = "worst_group_accuracy", "average_accuracy"
METRICS = {WORST: "worst group", AVERAGE: "average"}


@dataclass(frozen=True)
class Cell:
    """One number of the table: the same run with several training seeds, and what the paper prints there.

    `probes_again` says that it has the features of another cell under another probe. Once their trainings are in the
    store nothing is left to train, so that it is filled even where no more than the store is asked for.
    """

    row: str
    column: str
    specs: tuple[Spec, ...]
    paper: Printed = NOT_PRINTED
    probes_again: bool = False


@dataclass(frozen=True)
class Measured:
    """A cell with the results of its runs; a run that failed has none."""

    cell: Cell
    results: tuple[Result, ...]

    def values(self, metric: str) -> list[float]:
        return [float(getattr(result, metric)) for result in self.results]

    def mean(self, metric: str) -> float:
        return statistics.fmean(self.values(metric))

    def error(self, metric: str) -> float | None:
        """The standard error over training seeds; one seed has none."""
        values = self.values(metric)
        return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None

    def interval(self, metric: str) -> tuple[float, float]:
        """95 %: over training seeds where there are several, over test rows otherwise."""
        if len(self.results) > 1:
            return seed_interval(self.values(metric))
        report = self.results[0].report
        return (report.worst[1] if metric == WORST else report.overall).interval()

    def paper(self, metric: str) -> float | None:
        """What the paper prints, as a share."""
        printed = self.cell.paper.worst if metric == WORST else self.cell.paper.average
        return None if printed is None else printed / 100

    def text(self, metric: str) -> str:
        """``74.8 ± 0.6 (3×5)``: training seeds × probe seeds; then the paper's number and the difference."""
        if not self.results:
            return "missing"
        mean, error, paper = self.mean(metric), self.error(metric), self.paper(metric)
        spread = "" if error is None else f" ± {percent(error)}"
        beside = "" if paper is None else f"; paper {percent(paper)}, {signed(mean - paper)}"
        seeds = f"{len(self.results)}×{len(self.results[0].probes)}"
        return f"{percent(mean)}{spread} ({seeds}){beside}{one_class(self.results)}"


class ResultTable:
    """The measured cells of an experiment by row and column."""

    def __init__(self, measured: Iterable[Measured]) -> None:
        self.cells = list(measured)
        self._by_place = {(m.cell.row, m.cell.column): m for m in self.cells}

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(m.cell.row for m in self.cells))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(m.cell.column for m in self.cells))

    def at(self, row: str, column: str) -> Measured | None:
        """The cell, if it was asked for and at least one of its runs finished."""
        found = self._by_place.get((row, column))
        return found if found and found.results else None

    def mean(self, row: str, column: str, metric: str = WORST) -> float | None:
        found = self.at(row, column)
        return found.mean(metric) if found else None

    def gain(self, row: str, over: str, column: str, metric: str = WORST) -> float | None:
        """Mean of one row minus that of another, in the same column."""
        value, base = self.mean(row, column, metric), self.mean(over, column, metric)
        return None if value is None or base is None else value - base

    def values(self, row: str, column: str, metric: str = WORST) -> dict[int, float]:
        """Accuracies of a cell by training seed."""
        found = self.at(row, column)
        return {} if found is None else {r.spec.seed: float(getattr(r, metric)) for r in found.results}

    def judgements(self, row: str, column: str) -> list[Judgement]:
        """What the runs of a cell did on the test rows."""
        found = self.at(row, column)
        return [] if found is None else [judgement(result) for result in found.results]

    def one_class(self) -> list[str]:
        """Which cells hold a classifier that gives every test row the same class, as a sentence if there are any."""
        found = [f"{m.cell.row} at {m.cell.column}" for m in self.cells if one_class(m.results)]
        return [f"predicts one class only, with the accuracy of a constant: {'; '.join(found)}"] * bool(found)

    def texts(self, metric: str, corner: str = "") -> TextTable:
        """Every cell as text; a place without a cell is a dash."""
        rows = [
            [row, *(self._by_place[row, c].text(metric) if (row, c) in self._by_place else "–" for c in self.columns)]
            for row in self.rows
        ]
        return TextTable(f"{METRICS[metric]} accuracy in %", [corner, *self.columns], rows)
