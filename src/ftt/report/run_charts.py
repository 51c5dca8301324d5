"""Charts of runs: accuracy by label and attribute, training by group, curves over a parameter."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from ftt.metrics import Rate
from ftt.report.cases import Case, Cases, said
from ftt.report.charts import ON_DARK, ON_LIGHT, PALETTE, chart_of
from ftt.report.grids import HeatMap, Line, heat_maps, lines
from ftt.report.parts import Figure
from ftt.report.tables import percent, signed

MOST_PANELS, MOST_GROUPS, MOST_CELLS = 6, 8, 64
NOISES = ("data.core_noise", "data.spurious_noise")


def group_figure(panels: Mapping[str, Case]) -> Figure:
    """Accuracy of every label and attribute, with its interval and count; one panel per case."""
    first = next(iter(panels.values()))
    worst = {name: case.report.worst_of_label_and_attribute for name, case in panels.items()}
    many = len(panels) > 1
    alt_text = "; ".join(
        f"{f'{name}: ' if many else ''}the worst cell is {label}, {attribute} at {percent(rate.value)} % "
        f"(n = {rate.n:,}), the average {percent(panels[name].report.overall.value)} %"
        for name, ((label, attribute), rate) in worst.items()
    )
    rates = {name: case.report.by_label_and_attribute for name, case in panels.items()}
    known = [100 * rate.value for cells in rates.values() for rate in cells.values() if rate.n]
    # Tens around what is there: over all of 0 to 100 most maps would have one colour.
    span = 10 * math.floor(min(known) / 10), min(100, 10 * math.ceil(max(known) / 10 + 0.1))
    drawn = [_cells(name if many else "", cells, span) for name, cells in rates.items()]
    chart = alt.concat(*drawn, columns=3 if len(first.report.by_attribute) == 2 else 1).resolve_scale(color="shared")
    title = "Accuracy by label and attribute, % of the test rows, with 95 % intervals"
    return Figure(title, f"{alt_text[:1].upper()}{alt_text[1:]}.", chart, "groups")


def _cells(title: str, rates: Mapping[tuple[str, str], Rate], span: tuple[int, int]) -> alt.LayerChart | alt.FacetChart:
    labels, attributes = (list(dict.fromkeys(pair[at] for pair in rates)) for at in (0, 1))
    rows = []
    for (label, attribute), rate in rates.items():
        low, high = rate.interval()
        shown = {"label": label, "attribute": attribute, "n": rate.n, "low": 100 * low, "high": 100 * high}
        rows.append({**shown, "accuracy": 100 * rate.value if rate.n else None, **_texts(rate)})
    detailed = len(rows) <= MOST_CELLS
    tooltip = [
        alt.Tooltip("label:N"),
        alt.Tooltip("attribute:N"),
        alt.Tooltip("accuracy:Q", format=".1f", title="accuracy in %"),
        alt.Tooltip("low:Q", format=".1f", title="95 % from"),
        alt.Tooltip("high:Q", format=".1f", title="to"),
        alt.Tooltip("n:Q", format=",", title="test rows"),
    ]
    width, height = (max(110, 260 // len(attributes)), 62) if detailed else (60, 22)
    base = chart_of(rows).encode(
        x=alt.X("attribute:N", sort=attributes, title="attribute", axis=alt.Axis(labelAngle=0, labelLimit=width)),
        y=alt.Y("label:N", sort=labels, title="label", axis=alt.Axis(labelLimit=110)),
        tooltip=tooltip,
    )
    scale = alt.Scale(scheme="cividis", domain=list(span))
    colour = alt.Color("accuracy:Q", scale=scale, title="accuracy in %", legend=alt.Legend(gradientLength=110))
    ink = alt.condition(f"datum.accuracy < {sum(span) / 2}", alt.value(ON_DARK), alt.value(ON_LIGHT))
    layers: list[alt.Chart] = [base.mark_rect(stroke="white", strokeWidth=1).encode(color=colour)]
    sizes = (("value", -11, 15), ("interval", 7, 11), ("count", 21, 11)) if detailed else (("value", 0, 11),)
    for field, shift, size in sizes:
        layers.append(base.mark_text(dy=shift, fontSize=size).encode(text=f"{field}:N", color=ink))
    chart = alt.layer(*layers).properties(width=width * len(attributes), height=height * len(labels))
    return chart.properties(title=title) if title else chart


def _texts(rate: Rate) -> dict[str, str]:
    if not rate.n:
        return {"value": "no rows", "interval": "", "count": ""}
    low, high = rate.interval()
    shown = f"{percent(low)} – {percent(high)}"
    return {"value": percent(rate.value), "interval": shown, "count": f"n = {rate.n:,}"}


def training_figure(panels: Mapping[str, Case]) -> Figure | None:
    """Accuracy on the training split by label and attribute, epoch by epoch; None where nothing was trained."""
    rows: list[dict[str, Any]] = []
    ends: list[str] = []
    for name, case in panels.items():
        logs = [result.train_log for result in case.results if result.train_log]
        if not logs:
            continue
        groups = [f"{label}, {attribute}" for label, attribute in case.report.by_label_and_attribute]
        curves = _curves(logs, groups)
        last = {group: points[-1][1] for group, points in curves.items() if points}
        kept = sorted(last, key=lambda group: last[group])[:MOST_GROUPS]
        rows += [
            {"variant": name, "group": group, "epoch": epoch, "accuracy": 100 * value}
            for group in groups
            if group in kept
            for epoch, value in curves[group]
        ]
        if kept:
            ends.append(f"{name} {percent(last[kept[0]])} % ({kept[0]}) and {percent(max(last.values()))} %")
    if not rows:
        return None
    names, groups = (list(dict.fromkeys(row[field] for row in rows)) for field in ("variant", "group"))
    colour = alt.Color(
        "group:N", sort=groups, title="label, attribute", scale=alt.Scale(domain=groups, range=_colours(len(groups)))
    )
    chart = (
        chart_of(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X("epoch:Q", title="epoch", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("accuracy:Q", title="training accuracy in %", scale=alt.Scale(zero=False)),
            color=colour,
            strokeDash=alt.StrokeDash("group:N", sort=groups, legend=None),
            tooltip=["variant:N", "group:N", "epoch:Q", alt.Tooltip("accuracy:Q", format=".1f")],
        )
        .properties(width=320, height=220)
        .facet(facet=alt.Facet("variant:N", sort=names, title=None), columns=2)
    )
    text = (
        "Accuracy against the labels trained on; trainings of one recipe follow one another. "
        f"At the end, on the worst and on the best group: {'; '.join(ends)}."
    )
    return Figure("Training curves by group", text, chart, "training")


def _curves(logs: Sequence[list[dict[str, Any]]], groups: Sequence[str]) -> dict[str, list[tuple[int, float]]]:
    """Accuracy of every group by epoch, averaged over training seeds; stages follow one another."""
    found: dict[str, list[tuple[int, float]]] = {group: [] for group in groups}
    for epoch in range(min(map(len, logs))):
        tables = [log[epoch]["accuracy_by_group"] for log in logs]
        cells = [[value for row in table for value in row] for table in tables]
        for place, group in enumerate(groups):
            known = [row[place] for row in cells if place < len(row) and row[place] is not None]
            if known:
                found[group].append((epoch + 1, statistics.fmean(known)))
    return found


def _colours(count: int) -> list[str]:
    return [PALETTE[place % len(PALETTE)] for place in range(count)]


def noise_figures(cases: Cases) -> list[Figure]:
    """Heat maps over both noises: every variant, and its gain over what it is compared with."""
    found: dict[str, dict[tuple[float, float], Case]] = {}
    if any(name not in cases.setting_fields for name in NOISES):
        return []
    rest = [name for name in cases.setting_fields if name not in NOISES]
    commonest = _commonest([str([case.setting.get(name) for name in rest]) for case in cases.cases])
    for case in cases.cases:
        if str([case.setting.get(name) for name in rest]) == commonest:
            core, spurious = (float(str(case.setting[name])) for name in NOISES)
            found.setdefault(cases.label(case), {})[core, spurious] = case
    full = {name: grid for name, grid in found.items() if len(grid) >= 4}
    if not full:
        return []
    levels = sorted({level for grid in full.values() for pair in grid for level in pair})
    maps = [HeatMap(name, {at: case.mean() for at, case in grid.items()}) for name, grid in full.items()]
    shown = maps[:MOST_PANELS]
    figures = [
        Figure(
            "Worst-group accuracy over both noises, in %",
            _range_text(shown, percent),
            heat_maps(shown, levels, "accuracy in %"),
            "noise",
        )
    ]
    base = next((name for name in ("init", "erm") if name in full), None)
    if base is not None and len(full) > 1:
        gains = [
            HeatMap(
                f"{name} − {base}",
                {at: case.mean() - full[base][at].mean() for at, case in grid.items() if at in full[base]},
            )
            for name, grid in full.items()
            if name != base
        ][:MOST_PANELS]
        text = _range_text(gains, signed)
        drawn = heat_maps(gains, levels, "points", diverging=True)
        figures.append(Figure(f"Change of the worst group against {base}, in points", text, drawn, "noise-gain"))
    return figures


def _range_text(maps: Sequence[HeatMap], text: Any) -> str:
    parts = []
    for m in maps:
        known = {at: value for at, value in m.values.items() if value is not None}
        if known:
            low, high = min(known, key=lambda at: known[at]), max(known, key=lambda at: known[at])
            parts.append(
                f"{m.title}: from {text(known[low])} at core noise {low[0]:.0%} and spurious noise {low[1]:.0%} to "
                f"{text(known[high])} at {high[0]:.0%} and {high[1]:.0%}"
            )
    return "; ".join(parts) + "."


def curve_figures(cases: Cases) -> list[Figure]:
    """Curves of the worst group over p, over the dimensions probed on, and over one noise where only one varies."""
    figures = []
    over_p = _lines(cases, {id(case): case.p for case in cases.cases if case.recipe in ("erm", "ftt", "pca")}, "p")
    if over_p:
        figures.append(_curve_figure(over_p, "p", "share of frozen features, p"))
    both = all(name in cases.setting_fields for name in NOISES)
    for field, words in (("probe.dims", "dimensions probed on"), *((name, said_axis(name)) for name in NOISES)):
        if field not in cases.setting_fields or (both and field in NOISES):
            continue
        scale = 100 if field in NOISES else 1
        at = {id(case): _number(case.setting.get(field), scale) for case in cases.cases}
        if found := _lines(cases, at, field):
            figures.append(_curve_figure(found, field.partition(".")[2], words, log=field == "probe.dims"))
    return figures


def said_axis(field: str) -> str:
    """The title of an axis of noise."""
    return "core noise η_core in %" if "core" in field else "spurious noise η_spu in %"


def _number(value: Any, scale: float) -> float | None:
    return None if value is None else scale * float(value)


def _lines(cases: Cases, at: Mapping[int, float | None], field: str) -> list[Line]:
    """Curves with at least three points: one for every combination of what else differs."""
    curves: dict[str, list[tuple[float, float, tuple[float, float] | None]]] = {}
    for case in cases.cases:
        place = at.get(id(case))
        if place is None:
            continue
        fixed = [said(name, case.setting.get(name)) for name in cases.setting_fields if name != field]
        name = ", ".join(fixed if field == "p" else [cases.label(case), *fixed]) or "worst group"
        low, high = case.interval()
        curves.setdefault(name, []).append((place, 100 * case.mean(), (100 * low, 100 * high)))
    return [Line(name, sorted(points)) for name, points in curves.items() if len({x for x, *_ in points}) >= 3]


def _curve_figure(curves: Sequence[Line], name: str, words: str, *, log: bool = False) -> Figure:
    shown = curves[:MOST_GROUPS]
    text = "; ".join(
        f"{curve.name}: {curve.points[0][1]:.1f} % at {curve.points[0][0]:g}, {curve.points[-1][1]:.1f} % at "
        f"{curve.points[-1][0]:g}, best {max(y for _, y, _ in curve.points):.1f} %"
        for curve in shown
    )
    left = f" {len(curves) - len(shown)} further curves are in the table." if len(curves) > len(shown) else ""
    chart = lines(shown, words, "worst-group accuracy in %", log=log)
    return Figure(f"Worst group over {words}", f"{text}. Bars are 95 % intervals.{left}", chart, f"over-{name}")


def _commonest(values: Sequence[str]) -> str:
    return max(values, key=values.count)
