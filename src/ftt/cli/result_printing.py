"""One result on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftt.cli.common import print_lines, print_table

if TYPE_CHECKING:
    from ftt.result import Result


def print_result(result: Result) -> None:
    """The table of a run, where it comes from, and what the reader should know."""
    from ftt.report.tables import result_table

    print_table(result_table(result))
    where = "from the store" if result.from_store else f"took {sum(result.seconds.values()):.0f} s"
    print_lines(f"run {result.run.id} · C = {result.C:g} · {where}", style="dim")
    for warning in (*result.report.remarks(), *result.warnings):
        print_lines(f"note: {warning}", style="yellow")
