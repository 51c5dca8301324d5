"""The demo's table, chart and page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from ftt.paper.demo_claims import RECIPES, DemoRow, Noises, verdict
from ftt.report.charts import PALETTE, chart_of, fragment, save
from ftt.report.page import Block, write_page
from ftt.report.tables import TextTable, percent, signed

COLUMNS = ("core / spurious noise", "features", "worst group", "against initial", "average", "paper", "shows here")


def table(rows: Sequence[DemoRow], dataset: str) -> TextTable:
    """The rows as texts; a rule separates the noise settings."""
    cells: list[list[str]] = []
    for number, row in enumerate(rows):
        if number and row.noises != rows[number - 1].noises:
            cells.append([])
        claim, gain = row.claim, row.gain
        cells.append(
            [
                in_words(row.noises),
                RECIPES[row.recipe],
                percent(row.result.worst_group_accuracy),
                "" if gain is None else signed(gain),
                percent(row.result.average_accuracy),
                claim.paper if claim else "",
                "" if claim is None or gain is None else "yes" if claim.holds(gain) else "NO",
            ]
        )
    return TextTable(f"{dataset}: probed accuracy on clean test labels (%)", COLUMNS, cells, left=2)


def in_words(noises: Noises) -> str:
    core, spurious = noises
    return f"{core:.0%} / {spurious:.0%}"


def chart(lines: Sequence[DemoRow]) -> alt.TopLevelMixin:
    """Worst-group accuracy of each kind of features with its interval, one panel per noise setting."""
    rows: list[dict[str, Any]] = []
    for line in lines:
        worst_rate = line.result.report.worst[1]
        low, high = worst_rate.interval()
        rows.append(
            {
                "setting": f"core noise {line.noises[0]:.0%}, spurious noise {line.noises[1]:.0%}",
                "features": RECIPES[line.recipe],
                "worst": 100 * worst_rate.value,
                "average": 100 * line.result.average_accuracy,
                "low": 100 * low,
                "high": 100 * high,
            }
        )
    order = list(RECIPES.values())
    base = chart_of(rows).encode(x=alt.X("features:N", sort=order, title=None, axis=alt.Axis(labelAngle=0)))
    colour = alt.Color("features:N", sort=order, legend=None, scale=alt.Scale(domain=order, range=list(PALETTE[:3])))
    worst = alt.Y("worst:Q", title="worst-group accuracy (%)", scale=alt.Scale(zero=False))
    # Points, not bars: the axis does not start at zero.
    points = base.mark_point(size=140, opacity=1).encode(
        y=worst,
        color=colour,
        tooltip=[
            alt.Tooltip("features:N"),
            alt.Tooltip("worst:Q", format=".1f"),
            alt.Tooltip("average:Q", format=".1f"),
        ],
    )
    whiskers = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", title=""), y2="high:Q", color=colour)
    numbers = base.mark_text(align="left", dx=12, fontSize=13, color="#222").encode(
        y=worst, text=alt.Text("worst:Q", format=".1f")
    )
    panels = alt.layer(whiskers, points, numbers).properties(width=270, height=260)
    return panels.facet(column=alt.Column("setting:N", title=None, sort=[r["setting"] for r in rows]))


def write(rows: Sequence[DemoRow], dataset: str, folder: Path) -> list[Path]:
    """Chart (PNG, SVG) and page (HTML) in one folder."""
    drawn = chart(rows)
    shown = table(rows, dataset)
    pictures = save(drawn, folder, "demo", ("png", "svg"))
    about = {
        "dominoes": "Real CIFAR-10 cars and trucks (core) above real MNIST zeros and ones (spurious); "
        "EfficientNet-Lite0 with ImageNet weights.",
        "digits": "Embedded handwritten digits: even or odd (core) above a zero or one (spurious); a small network "
        "with random weights. A stand-in for Dominoes, used when that cannot be fetched: 400 test images, wide "
        "intervals.",
    }[dataset]
    page = write_page(
        folder / "demo.html",
        "Freeze then Train: the demo",
        [
            about,
            "Labels are wrong at the rate of the core noise; the shortcut disagrees with the label at the rate of the "
            "spurious noise. Each kind of features is probed on noisy, balanced data of the target environment and "
            "judged on clean test labels. Lines show 95 % intervals over test images.",
            verdict(rows) + ".",
        ],
        [
            Block("Accuracy of the probed features (%)", shown.columns, shown.rows),
            Block("Worst group", chart=fragment(drawn)),
        ],
        footer="Made by: ftt demo. Paper: Ye, Zou, Zhang, Freeze then Train, AISTATS 2023 (Figure 1, Section 5.2).",
    )
    return [*pictures, page]
