"""Heat maps over the plane of the two noises, and lines with bands: the figures of the paper's experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from ftt.report.charts import INK, ON_DARK, ON_LIGHT, chart_of

Grid = Mapping[tuple[float, float], float | None]
"""A share by (core noise, spurious noise); None where it is missing."""

CELL = 46
COLUMNS = 2


@dataclass(frozen=True)
class HeatMap:
    """One panel."""

    title: str
    values: Grid


def heat_maps(
    panels: Sequence[HeatMap], levels: Sequence[float], legend: str, *, diverging: bool = False
) -> alt.TopLevelMixin:
    """Panels with one colour scale and the number in every cell; core noise upwards, spurious noise to the right.

    `diverging` puts white at zero: orange is a loss, blue a gain.
    """
    shown = [100 * value for panel in panels for value in panel.values.values() if value is not None]
    reach = max((abs(value) for value in shown), default=1.0)
    scale = (
        alt.Scale(scheme="redblue", domain=[-reach, reach])
        if diverging
        else alt.Scale(scheme="cividis", domain=[min(shown, default=0), max(shown, default=1)])
    )
    middle = (min(shown, default=0) + max(shown, default=1)) / 2
    # Dark numbers on light cells, light ones on dark cells.
    dark = f"abs(datum.value) > {0.6 * reach}" if diverging else f"datum.value < {middle}"
    names = [f"{level:.0%}" for level in levels]
    drawn = [_panel(panel, names, levels, scale, legend, dark) for panel in panels]
    joined: alt.TopLevelMixin = alt.concat(*drawn, columns=COLUMNS).resolve_scale(color="shared")
    return joined


def _panel(
    panel: HeatMap, names: Sequence[str], levels: Sequence[float], scale: alt.Scale, legend: str, dark: str
) -> alt.LayerChart | alt.FacetChart:
    rows = [
        {"core": names[levels.index(core)], "spurious": names[levels.index(spurious)], "value": 100 * value}
        for (core, spurious), value in panel.values.items()
        if value is not None
    ]
    base = chart_of(rows).encode(
        x=alt.X("spurious:O", sort=list(names), title="spurious noise η_spu", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("core:O", sort=list(reversed(names)), title="core noise η_core"),
    )
    tooltip = [
        alt.Tooltip("core:O", title="core noise"),
        alt.Tooltip("spurious:O", title="spurious noise"),
        alt.Tooltip("value:Q", format=".1f", title=legend),
    ]
    base = base.encode(tooltip=tooltip)
    cells = base.mark_rect().encode(color=alt.Color("value:Q", scale=scale, title=legend))
    numbers = base.mark_text(fontSize=12).encode(
        text=alt.Text("value:Q", format=".1f"),
        color=alt.condition(dark, alt.value(ON_DARK), alt.value(ON_LIGHT)),
    )
    size = CELL * len(levels)
    return alt.layer(cells, numbers).properties(width=size, height=size, title=panel.title)


@dataclass(frozen=True)
class Line:
    """A curve: points (x, y, its 95 % interval or None)."""

    name: str
    points: Sequence[tuple[float, float, tuple[float, float] | None]]


def lines(curves: Sequence[Line], x: str, y: str, *, log: bool = False, zero: bool = False) -> alt.TopLevelMixin:
    """Curves with points and error bars; `zero` draws the line of no change."""
    rows: list[dict[str, Any]] = [
        {"curve": curve.name, "x": at, "y": value, "low": (band or (value,))[0], "high": (band or (value,))[-1]}
        for curve in curves
        for at, value, band in curve.points
    ]
    scale = alt.Scale(type="log", base=2) if log else alt.Scale()
    base = chart_of(rows).encode(
        x=alt.X("x:Q", title=x, scale=scale),
        color=alt.Color("curve:N", title=None, sort=[curve.name for curve in curves]),
    )
    tooltip = [
        alt.Tooltip("curve:N", title="curve"),
        alt.Tooltip("x:Q", title=x, format="~g"),
        alt.Tooltip("y:Q", title=y, format=".1f"),
        alt.Tooltip("low:Q", title="from", format=".1f"),
        alt.Tooltip("high:Q", title="to", format=".1f"),
    ]
    height = alt.Y("y:Q", title=y, scale=alt.Scale(zero=False))
    layers: list[alt.Chart] = [
        base.mark_line().encode(y=height),
        base.mark_point().encode(y=height, tooltip=tooltip),
        base.mark_rule().encode(y=alt.Y("low:Q", title=y, scale=alt.Scale(zero=False)), y2="high:Q"),
    ]
    if zero:
        level = chart_of([{"level": 0}]).mark_rule(strokeDash=[4, 4], color=INK).encode(y="level:Q")
        layers.insert(0, level)
    drawn: alt.TopLevelMixin = alt.layer(*layers).properties(width=420, height=280)
    return drawn
