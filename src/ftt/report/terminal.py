"""A table of texts on a terminal of any width: as it is where it fits, narrower, or one block of lines per row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ftt.plain_text import printable
from ftt.report.formats import Strong

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from ftt.report.tables import TextTable

NARROWEST = 24
"""Columns that words of a row may be folded to before rows become blocks."""


@dataclass(frozen=True)
class Fitted:
    """A `TextTable` that rich draws within the width it has. Nothing in the texts is markup or a command."""

    table: TextTable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = [printable(column, lines=False) for column in self.table.columns]
        rows = [[_plain(cell) for cell in row] for row in self.table.rows]
        room = options.max_width
        # Broken headers first, then no frame, then folded words.
        broken = [_broken(column, _width(rows, at)) for at, column in enumerate(columns)]
        for headers, framed in ((columns, True), (broken, True), (broken, False)):
            drawn = _draw(headers, rows, self.table.left, framed)
            if console.measure(drawn, options=options.update(max_width=10_000)).maximum <= room:
                yield drawn
                return
        folded = [number < self.table.left for number in range(len(columns))]
        needed = sum(
            min(NARROWEST, _width(rows, at)) if folded[at] else max(_width(rows, at), _longest_line(broken[at]))
            for at in range(len(columns))
        )
        if needed + len(columns) <= room:
            yield drawn
            return
        yield from _blocks(columns, rows)


def _plain(cell: str) -> str:
    plain = printable(cell, lines=False)
    return Strong(plain) if isinstance(cell, Strong) else plain


def _draw(headers: Sequence[str], rows: Sequence[Sequence[str]], left: int, framed: bool) -> Table:
    drawn = Table(header_style="bold") if framed else Table(header_style="bold", box=None, padding=(0, 1, 0, 0))
    for number, header in enumerate(headers):
        word = number < left
        # Words may be folded, numbers may not.
        drawn.add_column(
            Text(header),
            justify="left" if word else "right",
            overflow="fold",
            min_width=None if word else _width(rows, number),
        )
    for row in rows:
        if row:
            drawn.add_row(*(Text(cell, "bold" if isinstance(cell, Strong) else "") for cell in row))
        else:
            drawn.add_section()
    return drawn


def _blocks(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> RenderResult:
    """Every row as lines of ``column  value``; empty cells are left out."""
    widest = max(map(len, columns))
    for number, row in enumerate(row for row in rows if row):
        if number:
            yield Text("")
        for column, cell in zip(columns, row, strict=True):
            if cell:
                yield Text.assemble((f"{column:<{widest}}  ", "bold"), cell)


def _width(rows: Sequence[Sequence[str]], column: int) -> int:
    return max((len(row[column]) for row in rows if row), default=0)


def _longest_line(header: str) -> int:
    return max(map(len, header.split("\n")))


def _broken(header: str, width: int) -> str:
    """A header broken between its words, so that it is hardly wider than what is below it.

    Examples
    --------
    >>> _broken("worst_group_accuracy", 5).split()
    ['worst_', 'group_', 'accuracy']
    """
    lines = [""]
    for word in re.findall(r"[^ _.]+[ _.]*", header) or [header]:
        if lines[-1] and len(lines[-1]) + len(word.rstrip()) > max(width, 8):
            lines.append("")
        lines[-1] += word
    return "\n".join(line.rstrip(" ") for line in lines)
