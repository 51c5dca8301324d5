"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table

from ftt.params import Json


def result_table(result: Mapping[str, Json]) -> Table:
    """One run: worst group, average and every group, with intervals and counts."""
    spec = result["spec"]
    recipe = " + ".join(part["name"] for part in (spec["freeze"], spec["method"]) if part) or "initial features"
    table = Table(
        title=f"{spec['data']['name']} · {spec['backbone']} · {recipe}",
        caption=f"probed accuracy on test, {result['labels']} labels",
        title_justify="left",
        caption_justify="left",
        header_style="bold",
    )
    table.add_column("group")
    table.add_column("accuracy", justify="right")
    table.add_column("95 % interval", justify="right")
    table.add_column("n", justify="right")
    worst = result["by_group"][result["worst_group"]]
    table.add_row(f"worst ({result['worst_group']})", *_cells(worst), style="bold")
    low, high = result["average_interval"]
    total = sum(group["n"] for group in result["by_group"].values())
    table.add_row("average", *_cells({"accuracy": result["average_accuracy"], "low": low, "high": high, "n": total}))
    table.add_section()
    for name, group in result["by_group"].items():
        table.add_row(name, *_cells(group))
    return table


def _cells(rate: Mapping[str, Json]) -> tuple[str, str, str]:
    if not rate["n"]:
        return "–", "", "0"
    return percent(rate["accuracy"]), f"{percent(rate['low'])} – {percent(rate['high'])}", str(rate["n"])


def percent(value: float) -> str:
    """A share as the paper prints it: 74.2."""
    return f"{100 * value:.1f}"


def signed(value: float) -> str:
    """A difference of shares in points, always with its sign; a real minus, as wide as the plus."""
    return f"{100 * value:+.1f}".replace("-", "−")


def plain_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], left: int = 2) -> Table:
    """A table whose first `left` columns are words and whose others are numbers; an empty row is a rule."""
    table = Table(title=title, title_justify="left", header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < left else "right")
    for row in rows:
        if row:
            table.add_row(*row)
        else:
            table.add_section()
    return table
