"""The demo's table, chart and page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import altair as alt

from ftt.params import Json
from ftt.report.charts import PALETTE, chart_of, fragment, save
from ftt.report.page import Block, write_page
from ftt.report.tables import percent, signed

COLUMNS = ("core / spurious noise", "features", "worst group", "against initial", "average", "paper", "shows here")


class Expectation(Protocol):
    """What the paper says of one line."""

    @property
    def paper(self) -> str: ...

    def holds(self, gain: float) -> bool: ...


class Line(Protocol):
    """One line of the demo; `ftt.experiments.demo.Row` is one."""

    @property
    def setting(self) -> tuple[float, float]: ...
    @property
    def recipe(self) -> str: ...
    @property
    def result(self) -> dict[str, Json]: ...
    @property
    def gain(self) -> float | None: ...
    @property
    def claim(self) -> Expectation | None: ...


def cells(lines: Sequence[Line], names: dict[str, str]) -> list[list[str]]:
    """The rows of the table as texts; an empty row separates the settings."""
    out: list[list[str]] = []
    for number, line in enumerate(lines):
        if number and line.setting != lines[number - 1].setting:
            out.append([])
        claim, gain = line.claim, line.gain
        shows = "" if claim is None or gain is None else "yes" if claim.holds(gain) else "NO"
        out.append(
            [
                setting_name(line.setting),
                names[line.recipe],
                percent(line.result["worst_group_accuracy"]),
                "" if gain is None else signed(gain),
                percent(line.result["average_accuracy"]),
                claim.paper if claim else "",
                shows,
            ]
        )
    return out


def setting_name(setting: tuple[float, float]) -> str:
    core, spurious = setting
    return f"{core:.0%} / {spurious:.0%}"


def chart(lines: Sequence[Line], names: dict[str, str]) -> alt.TopLevelMixin:
    """Worst-group accuracy of each kind of features with its interval, one panel a noise setting."""
    rows = []
    for line in lines:
        low, high = line.result["worst_group_interval"]
        rows.append(
            {
                "setting": f"core noise {line.setting[0]:.0%}, spurious noise {line.setting[1]:.0%}",
                "features": names[line.recipe],
                "worst": 100 * line.result["worst_group_accuracy"],
                "average": 100 * line.result["average_accuracy"],
                "low": 100 * low,
                "high": 100 * high,
            }
        )
    order = list(names.values())
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


def write(lines: Sequence[Line], names: dict[str, str], dataset: str, verdict: str, folder: Path) -> list[Path]:
    """Chart (PNG, SVG) and page (HTML) in one folder."""
    drawn = chart(lines, names)
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
            verdict + ".",
        ],
        [
            Block("Accuracy of the probed features (%)", COLUMNS, cells(lines, names)),
            Block("Worst group", chart=fragment(drawn)),
        ],
        footer="Made by: ftt demo. Paper: Ye, Zou, Zhang, Freeze then Train, AISTATS 2023 (Figure 1, Section 5.2).",
    )
    return [*pictures, page]
