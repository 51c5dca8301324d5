"""Tables of texts, for the terminal and for files."""

from __future__ import annotations

import html
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftt.metrics import FEW_ROWS
from ftt.params import Json
from ftt.plain_text import markdown_cell, printable
from ftt.report.formats import as_csv, as_latex, as_markdown

if TYPE_CHECKING:
    from rich.console import Group

    from ftt.metrics import Rate
    from ftt.result import Result


@dataclass(frozen=True)
class TextTable:
    """A table of texts: the first `left` columns are words, the others numbers; an empty row is a rule.

    A cell that is a `Strong` is bold in every format that has bold text.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1

    def to_rich(self) -> Group:
        """For the terminal, within its width. Texts are shown as they are: nothing in them is markup or a command."""
        from rich.console import Group
        from rich.text import Text

        from ftt.report.terminal import Fitted

        # A title of the table itself would be broken to its width.
        title = [Text(printable(self.title, lines=False), "italic")] if self.title else []
        return Group(*title, Fitted(self))

    def to_lines(self) -> list[str]:
        """The table as plain lines, every column as wide as it needs: a hundred times faster than `to_rich`."""
        from rich.cells import cell_len

        def wide(cell: str) -> int:
            return len(cell) if cell.isascii() else cell_len(cell)

        words = [[printable(cell, lines=False) for cell in row] for row in (self.columns, *self.rows) if row]
        widths = [max(map(wide, column)) for column in zip(*words, strict=True)]

        def line(row: list[str]) -> str:
            gaps = [" " * (width - wide(cell)) for cell, width in zip(row, widths, strict=True)]
            cells = (c + g if n < self.left else g + c for n, (c, g) in enumerate(zip(row, gaps, strict=True)))
            return "  ".join(cells).rstrip()

        rule = "  ".join("-" * width for width in widths)
        return [*([self.title] if self.title else []), line(words[0]), rule, *map(line, words[1:])]

    def to_markdown(self) -> str:
        """A pipe table under its title in bold."""
        return f"**{markdown_cell(self.title)}**\n\n" + as_markdown(self.columns, self._filled(), self._numeric())

    def to_latex(self) -> str:
        """A tabular of booktabs."""
        return as_latex(self.columns, self._filled(), self._numeric())

    def to_csv(self) -> str:
        """Comma-separated values, a header first."""
        return as_csv(self.columns, self._filled())

    def _filled(self) -> list[Sequence[str]]:
        return [row for row in self.rows if row]

    def _numeric(self) -> list[bool]:
        return [number >= self.left for number in range(len(self.columns))]

    def to_html(self) -> str:
        """For notebooks."""
        head = "".join(f"<th>{html.escape(printable(column))}</th>" for column in self.columns)
        body = "".join(
            f"<tr>{''.join(f'<td>{html.escape(printable(cell))}</td>' for cell in row)}</tr>"
            for row in self.rows
            if row
        )
        title = f"<p>{html.escape(printable(self.title))}</p>" if self.title else ""
        return f"{title}<table><tr>{head}</tr>{body}</table>"

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
    ]
    if (adjusted := result.adjusted_average_accuracy) is not None:
        rows.append(["average, groups weighted as in training", percent(adjusted), "", ""])
    rows.append([])
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
        [str(r.spec.seed), percent(w), percent(a), r.run.id + one_class([r])]
        for r, (w, a) in zip(results, figures, strict=True)
    ]
    columns = list(zip(*figures, strict=True))
    rows += [[], ["mean", *(percent(statistics.fmean(values)) for values in columns), ""]]
    intervals = [seed_interval(values) for values in columns]
    rows.append(["95 % interval", *(f"{percent(low)} – {percent(high)}" for low, high in intervals), ""])
    title = f"{results[0].title()}: probed accuracy in %, {len(results)} training seeds"
    return TextTable(title, ("seed", "worst group", "average", "run"), rows)


def dims_table(results: Sequence[Result]) -> TextTable:
    """The same run probed on several numbers of principal components."""
    rows = [
        [
            f"{r.dims}{one_class([r])}",
            percent(r.worst_group_accuracy),
            percent(r.average_accuracy),
            f"{r.seconds['probe']:.2f}",
        ]
        for r in results
    ]
    columns = ("dimensions", "worst group", "average", "probing (s)")
    return TextTable("probed on the first principal components (%)", columns, rows, left=0)


def one_class(results: Sequence[Result]) -> str:
    """What a table puts beside results one of which is that of a constant classifier; nothing otherwise."""
    return " (one class only)" if any(result.collapsed for result in results) else ""


def seed_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """The t interval of the mean of a few accuracies, as far as it lies within 0 and 1.

    Two seeds say little about a mean: their interval reaches 12.7 times as far from it as they do.

    Examples
    --------
    >>> low, high = seed_interval([0.70, 0.74, 0.72])
    >>> round(low, 2), round(high, 2)
    (0.67, 0.77)
    >>> seed_interval([0.85, 0.95])[1]
    1.0
    """
    from scipy.stats import t

    n = len(values)
    half = float(t.ppf(0.5 + level / 2, n - 1)) * statistics.stdev(values) / n**0.5
    mean = statistics.fmean(values)
    return max(0.0, mean - half), min(1.0, mean + half)


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
