"""An audit of a classifier that is already there: where it fails, what it follows, which labels look wrong."""

from __future__ import annotations

import csv
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ftt.atomic import replacing
from ftt.diagnosis.following import Following
from ftt.diagnosis.label_issues import LabelIssues
from ftt.metrics import CrossedGroup, Rate
from ftt.params import Json
from ftt.plain_text import csv_cell
from ftt.report.tables import TextTable, percent, rate_cells, signed

if TYPE_CHECKING:
    from pandas import DataFrame

    from ftt.paired import Difference
    from ftt.report.page import Page

SHOWN = 10


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes
    ----------
    name : str
    overall : Rate
    groups : sequence of CrossedGroup
        By label, every attribute and their crossings, of the smallest allowed size on.
    columns : tuple of str
        What rows were grouped by; the first is the label.
    adjusted : float, optional
        Average of label-and-attribute groups weighted by their shares in training, as WILDS reports it.
    following : mapping of str to Following
        How strongly predictions follow each attribute at a fixed label.
    differences : mapping of str to Difference
        Accuracy minus that of the other predictions, by group, on the same rows.
    issues : LabelIssues, optional
    labels : tuple of str
        Names of the label codes.
    given : (n,) array
        Label codes.
    ids : (n,) array
        Names of the rows.
    warnings : tuple of str
    """

    name: str
    overall: Rate
    groups: Sequence[CrossedGroup]
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    given: np.ndarray[tuple[int], np.dtype[np.int64]]
    ids: np.ndarray[tuple[int], np.dtype[np.str_]]
    following: Mapping[str, Following]
    differences: Mapping[str, Difference]
    adjusted: float | None = None
    issues: LabelIssues | None = None
    warnings: tuple[str, ...] = ()

    @property
    def worst(self) -> CrossedGroup | None:
        """The group with the lowest accuracy, the label alone apart."""
        return min(self._attribute_groups(), key=lambda group: group.rate.value, default=None)

    def _attribute_groups(self) -> list[CrossedGroup]:
        return [group for group in self.groups if any(column != self.columns[0] for column, _ in group.parts)]

    def group_table(self, most: int | None = None) -> TextTable:
        """Groups from the worst on, with intervals."""
        ranked = sorted(self.groups, key=lambda group: group.rate.value)
        rows = [["all rows", *rate_cells(self.overall), self._difference("all rows")], []]
        rows += [[group.name, *rate_cells(group.rate), self._difference(group.name)] for group in ranked[:most]]
        columns = ["group", "accuracy", "95 % interval", "n", "difference [95 %]"]
        kept = len(columns) if self.differences else len(columns) - 1
        title = f"{self.name}: accuracy in % by group, worst first"
        return TextTable(title, columns[:kept], [row[:kept] for row in rows])

    def _difference(self, name: str) -> str:
        found = self.differences.get(name)
        return "" if found is None else f"{signed(found.value)} [{signed(found.low)}, {signed(found.high)}]"

    def sentences(self) -> list[str]:
        """What was found, in plain words."""
        lines = []
        if self.worst is not None:
            value, interval, n = rate_cells(self.worst.rate)
            lines.append(f"worst group: {self.worst.name}, {value} % ({interval}, {n} rows)")
        if self.adjusted is not None:
            lines.append(f"average weighted by the training shares of the groups: {percent(self.adjusted)} %")
        for name, found in self.following.items():
            what = "follow" if found.distinguishable else "do not distinguishably follow"
            lines.append(
                f"at a fixed label predictions {what} {name}: they differ by {percent(found.value)} % between two of "
                f"its values (by chance up to {percent(found.chance)} %)"
            )
        if self.issues is not None:
            lines.append(
                f"{int(self.issues.is_issue.sum())} labels look wrong; share of wrong labels {self.issues.noise} "
                "(assumes fewer than half)"
            )
        return [*lines, *(f"warning: {warning}" for warning in self.warnings)]

    def label_issues(self) -> DataFrame:
        """One row per row, in order, with Datalab's columns: is_label_issue, label_score, given_label, predicted_label.

        Empty where there is nothing to judge labels by.
        """
        import pandas

        columns = ["is_label_issue", "label_score", "given_label", "predicted_label"]
        if self.issues is None:
            return pandas.DataFrame(columns=columns)
        names = np.array(self.labels)
        values = (self.issues.is_issue, self.issues.score, names[self.given], names[self.issues.likely])
        return pandas.DataFrame(dict(zip(columns, values, strict=True)), index=pandas.Index(self.ids, name="id"))

    def to_frame(self) -> DataFrame:
        """One row per group."""
        import pandas

        return pandas.DataFrame([{"group": group.name, **group.rate.to_json()} for group in self.groups])

    def to_json(self) -> dict[str, Json]:
        issues = self.issues
        return {
            "name": self.name,
            "overall": self.overall.to_json(),
            "adjusted_average": self.adjusted,
            "worst_group": self.worst.name if self.worst else None,
            "groups": [{"group": group.name, **dict(group.parts), **group.rate.to_json()} for group in self.groups],
            "following": {name: found.to_json() for name, found in self.following.items()},
            "differences": {
                name: {"value": d.value, "low": d.low, "high": d.high} for name, d in self.differences.items()
            },
            "label_noise": issues.noise.to_json() if issues else None,
            "label_issues": [str(self.ids[row]) for row in np.flatnonzero(issues.is_issue)] if issues else None,
            "warnings": list(self.warnings),
        }

    def page(self) -> Page:
        """Everything on one page."""
        from ftt.report.page import Page, Section

        sections = [Section("Groups", [self.group_table()])]
        if self.issues is not None:
            frame = self.label_issues()
            flagged = frame[frame["is_label_issue"]].sort_values("label_score").head(100)
            rows = [[str(row), *map(str, cells[2:]), f"{cells[1]:.3f}"] for row, *cells in flagged.itertuples()]
            columns = ("row", "given", "likely", "score of the given label")
            table = TextTable("up to 100 rows, least likely labels first", columns, rows, left=3)
            sections.append(Section("Labels that look wrong", [table]))
        return Page(f"Audit: {self.name}", self.sentences(), sections)

    def write_page(self, path: Path) -> Path:
        """One HTML file that opens without a network."""
        from ftt.report.page import write

        return write(path, self.page())

    def write_label_issues(self, path: Path) -> Path:
        """The table of `label_issues` as CSV; texts that a spreadsheet would run are made harmless."""
        frame = self.label_issues().reset_index()
        rows = [[csv_cell(str(cell)) for cell in row] for row in frame.itertuples(index=False)]
        with replacing(path) as scratch, scratch.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([list(frame.columns), *rows])
        return path

    def __str__(self) -> str:
        return "\n".join([self.group_table(SHOWN).to_markdown(), *self.sentences()])

    def _repr_html_(self) -> str:
        table = self.group_table(SHOWN)
        head = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows if row
        )
        words = "".join(f"<p>{html.escape(line)}</p>" for line in self.sentences())
        return f"<p>{html.escape(table.title)}</p><table><tr>{head}</tr>{body}</table>{words}"
