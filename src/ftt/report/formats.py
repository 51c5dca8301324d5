"""A table of results as text or file: CSV, Markdown, LaTeX, JSON, Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftt.atomic import replacing
from ftt.errors import FttError, unknown
from ftt.plain_text import csv_cell, markdown_cell, printable

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("table", "csv", "parquet", "latex", "markdown", "json")


class Strong(str):
    """A text that is shown in bold."""

    __slots__ = ()


_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def check(form: str) -> None:
    """Refuse an unknown format."""
    if form not in FORMATS:
        raise unknown("format", form, FORMATS)


def cells(table: pa.Table) -> list[list[str]]:
    """The rows as texts: numbers with at most four decimals, null as an empty cell."""
    return [[_word(value) for value in row.values()] for row in table.to_pylist()]


def as_text(table: pa.Table, form: str) -> str:
    """The table in a format that is text."""
    names = table.column_names
    if form == "csv":
        from pyarrow.csv import write_csv

        sink = io.BytesIO()
        write_csv(_without_formulas(table), sink)
        return sink.getvalue().decode()
    if form == "json":
        return json.dumps({"columns": names, "rows": table.to_pylist()}, indent=2) + "\n"
    if form == "latex":
        return as_latex(names, cells(table), _numeric(table))
    return as_markdown(names, cells(table), _numeric(table))


def _without_formulas(table: pa.Table) -> pa.Table:
    """The table with names and texts that no spreadsheet takes for formulas."""
    import pyarrow as pa

    columns = [
        pa.array([None if cell is None else csv_cell(cell) for cell in column.to_pylist()], pa.string())
        if pa.types.is_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=[csv_cell(name) for name in table.column_names])


def as_markdown(names: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    """A pipe table, numbers to the right.

    Examples
    --------
    >>> print(as_markdown(["recipe", "n"], [["pca | erm", "2"]], [False, True]), end="")
    | recipe | n |
    |---|---:|
    | pca \\| erm | 2 |
    """
    lines = [[_bold(markdown_cell(word), word, "**{}**") for word in row] for row in (names, *rows)]
    rule = "|" + "".join("---:|" if number else "---|" for number in numeric)
    head, *body = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([head, rule, *body]) + "\n"


def as_latex(names: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    """A tabular with the three rules of booktabs, every cell escaped.

    Examples
    --------
    >>> print(as_latex(["data.core_noise", "n"], [["20 %", "2"]], [False, True]), end="")
    \\begin{tabular}{lr}
    \\toprule
    data.core\\_noise & n \\\\
    \\midrule
    20 \\% & 2 \\\\
    \\bottomrule
    \\end{tabular}
    """
    head, *body = [" & ".join(map(_latex_cell, row)) + r" \\" for row in (names, *rows)]
    align = "".join("r" if number else "l" for number in numeric)
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def as_csv(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Comma-separated values that no spreadsheet takes for formulas; a number has a plain minus.

    Examples
    --------
    >>> as_csv(["recipe", "gain"], [["=1+1", "−1.5"], ["a, b", ""]]).splitlines()
    ['recipe,gain', "'=1+1,-1.5", '"a, b",']
    """
    sink = io.StringIO()
    writer = csv.writer(sink)
    writer.writerows([_csv_word(word) for word in row] for row in (names, *rows))
    return sink.getvalue()


def _csv_word(word: str) -> str:
    plain = csv_cell(word.replace("−", "-"))
    # What is no number keeps its signs: "−1.0 to +2.0" is text, and needs no apostrophe.
    return csv_cell(word) if plain.startswith("'") else plain


def _latex_cell(word: str) -> str:
    return _bold(printable(word, lines=False).translate(_LATEX), word, r"\textbf{{{}}}")


def _bold(written: str, word: str, form: str) -> str:
    return form.format(written) if isinstance(word, Strong) else written


def write(table: pa.Table, form: str, path: Path) -> None:
    """Write the table to a file, whole or not at all."""
    with replacing(path) as scratch:
        if form == "parquet":
            from pyarrow import parquet

            parquet.write_table(table, scratch)
        else:
            scratch.write_text(as_text(table, form), encoding="utf-8")


def need_file(form: str, path: Path | None) -> None:
    """Refuse to print a binary format."""
    if form == "parquet" and path is None:
        raise FttError(
            "Parquet needs --out FILE", given="standard output", allowed="a file", hint="--out results.parquet"
        )


def _numeric(table: pa.Table) -> list[bool]:
    import pyarrow as pa

    return [pa.types.is_floating(kind) or pa.types.is_integer(kind) for kind in table.schema.types]


def _word(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, float) and abs(value) >= 1e-3 else str(value)
