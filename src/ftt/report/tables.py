"""Tables of texts, for the terminal and for files."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftt.metrics import FEW_ROWS
from ftt.params import Json
from ftt.plain_text import markdown_cell, printable
from ftt.report.formats import as_markdown

if TYPE_CHECKING:
    from rich.console import Group

    from ftt.metrics import Rate
    from ftt.result import Result


@dataclass(frozen=True)
class TextTable:
    """A table of texts: the first `left` columns are words, the others numbers; an empty row is a rule."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1

    def to_rich(self) -> Group:
        """For the terminal. Texts are shown as they are: nothing in them is markup or a command."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        def text(content: str, style: str = "") -> Text:
            return Text(printable(content, lines=False), style)

        table = Table(header_style="bold")
        for number, column in enumerate(self.columns):
            table.add_column(text(column), justify="left" if number < self.left else "right")
        for row in self.rows:
            if row:
                table.add_row(*map(text, row))
            else:
                table.add_section()
        # A title of the table itself would be broken to its width.
        return Group(text(self.title, "italic"), table) if self.title else Group(table)

    def to_markdown(self) -> str:
        """A pipe table under its title in bold."""
        numeric = [number >= self.left for number in range(len(self.columns))]
        rows = [row for row in self.rows if row]
        return f"**{markdown_cell(self.title)}**\n\n" + as_markdown(self.columns, rows, numeric)

    def to_json(self) -> dict[str, Json]:
        return {"title": self.title, "columns": list(self.columns), "rows": [list(row) for row in self.rows]}


def result_table(result: Result) -> TextTable:
    """One run: worst group, average, every group, and every label within its group, with intervals and counts."""
    report = result.report
    rows = [] if report.balanced else [[f"worst ({report.headline[0]})", *rate_cells(report.headline[1])]]
    worst = "worst" if report.balanced else "worst by attribute, as in the paper"
    rows += [
        [f"{worst} ({report.worst[0]})", *rate_cells(report.worst[1])],
        ["average", *rate_cells(report.overall)],
        [],
    ]
    rows += [[name, *rate_cells(rate)] for name, rate in report.by_attribute.items()]
    rows.append([])
    for (label, name), rate in report.by_label_and_attribute.items():
        few = " *" if 0 < rate.n < FEW_ROWS else ""
        rows.append([f"{label}, {name}{few}", *rate_cells(rate)])
    labels = "clean" if report.clean else "observed"
    title = f"{result.title()}: probed accuracy in % on test ({labels} labels)"
    return TextTable(title, ("group", "accuracy", "95 % interval", "n"), rows)


def seeds_table(results: Sequence[Result]) -> TextTable:
    """The same run with several training seeds: every one, and their mean with its 95 % t interval."""
    figures = [(result.worst_group_accuracy, result.average_accuracy) for result in results]
    rows = [
        [str(r.spec.seed), percent(w), percent(a), r.run.id + ", one class only" * r.collapsed]
        for r, (w, a) in zip(results, figures, strict=True)
    ]
    means = [mean_interval([pair[which] for pair in figures]) for which in (0, 1)]
    rows += [[], ["mean", *(percent(mean) for mean, _ in means), ""]]
    rows.append(["95 % interval", *(f"{percent(m - h)} – {percent(m + h)}" for m, h in means), ""])
    title = f"{results[0].title()}: probed accuracy in %, {len(results)} training seeds"
    return TextTable(title, ("seed", "worst group", "average", "run"), rows)


def mean_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Mean of a few values and the half-width of its t interval.

    Examples
    --------
    >>> mean, half = mean_interval([0.70, 0.74, 0.72])
    >>> round(mean, 3), round(half, 3)
    (0.72, 0.05)
    """
    from scipy.stats import t

    n = len(values)
    half = float(t.ppf(0.5 + level / 2, n - 1)) * statistics.stdev(values) / n**0.5
    return statistics.fmean(values), half


def rate_cells(rate: Rate) -> tuple[str, str, str]:
    """Accuracy, interval and count of a rate as texts."""
    if not rate.n:
        return "n/a", "", "0"
    low, high = rate.interval()
    return percent(rate.value), f"{percent(low)} – {percent(high)}", str(rate.n)


def percent(value: float) -> str:
    """A share as the paper prints it: 74.2."""
    return f"{100 * value:.1f}"


def signed(value: float) -> str:
    """A difference of shares in points, always with its sign; a real minus, as wide as the plus."""
    return f"{100 * value:+.1f}".replace("-", "−")
