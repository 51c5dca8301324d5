"""Charts of the theory lab over time and over settings, drawn from the results of `ftt.theory`.

Times and errors are those of the paper's population flow and have no unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import numpy as np

from ftt.report.charts import INK, PALETTE, chart_of
from ftt.theory.bounds import training_decay
from ftt.theory.curves import Curves
from ftt.theory.mechanism import Array
from ftt.theory.statements import Check

Rows = list[dict[str, Any]]
Layers = alt.LayerChart | alt.FacetChart
Chart = alt.Chart | Layers | alt.HConcatChart | alt.VConcatChart

BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK = PALETTE[:7]
TIME = "training time t"
RATIO = "test error / optimum"
WIDTH, HEIGHT = 360, 230
PLAIN = "datum.value >= 0.01 && datum.value < 1e4 ? format(datum.value, '~g') : format(datum.value, '.0e')"

STYLES: dict[str, tuple[str, list[int]]] = {
    "ERM": (BLUE, [1, 0]),
    "FTT": (RED, [1, 0]),
    "late joining": (GREEN, [6, 2]),
    "upper bound, ERM (Theorem 1)": (SKY, [7, 4]),
    "lower bound, ERM (Theorem 2)": (PINK, [2, 3]),
    "limit of FTT (Theorem 3)": (BLACK, [9, 3, 2, 3]),
    "bound, ERM": (SKY, [7, 4]),
    "bound, FTT": (ORANGE, [2, 3]),
    "limit": (BLACK, [9, 3, 2, 3]),
}
"""Colour and dash of every line over time, so that lines are told apart without colour too."""


def ratio_axis(high: float) -> alt.Axis:
    """Ticks of a logarithmic ratio axis from 1 to `high`, denser for a short range."""
    ticks = (1, 1.2, 1.5, 2, 3, 5, 10) if high < 8 else (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    return alt.Axis(values=[tick for tick in ticks if tick <= high], format="~g")


def headed(chart: Chart, text: str, subtitle: str | None = None) -> Chart:
    """A chart under a heading, set apart from the headings of the panels."""
    title = alt.Title(text, offset=14) if subtitle is None else alt.Title(text, subtitle=subtitle, offset=14)
    return chart.properties(title=title)


def apart(chart: Chart) -> Chart:
    """Panels with separate legends."""
    made: Chart = chart.resolve_scale(color="independent", shape="independent", strokeDash="independent")
    return made


def flow_chart(found: Curves) -> Chart:
    """Four panels over t: test error with its bounds, training error with its bound, spurious weight, invariant."""
    setting, d = found.setting, found.erm.mechanism.d
    above = apart(alt.hconcat(_ratio_panel(found), _decay_panel(found), spacing=30))
    below = apart(alt.hconcat(_weight_panel(found), _drift_panel(found), spacing=30))
    return headed(
        apart(alt.vconcat(above, below, spacing=26)),
        "Gradient flow over training time",
        f"d = {d} inputs, m = {setting.m} features ({setting.frozen} frozen), k = {setting.k}, "
        f"core noise η = {setting.eta_core:g}, spurious noise η = {setting.eta_spu:g}",
    )


def _lines(rows: Rows, y: alt.Y, heading: str) -> alt.Chart:
    """Lines over t, each with its colour and dash."""
    names = [name for name in STYLES if any(row["series"] == name for row in rows)]
    legend = alt.Legend(title=None, orient="bottom", columns=2, symbolType="stroke", symbolSize=500)
    colours, dashes = zip(*(STYLES[name] for name in names), strict=True)
    chart: alt.Chart = (
        chart_of(rows)
        .mark_line(clip=True)
        .encode(
            x=alt.X("t:Q", title=TIME, scale=alt.Scale(type="log", nice=False), axis=_decades(rows, "t")),
            y=y,
            color=alt.Color("series:N", scale=alt.Scale(domain=names, range=list(colours)), legend=legend),
            strokeDash=alt.StrokeDash("series:N", scale=alt.Scale(domain=names, range=list(dashes)), legend=legend),
            tooltip=["series:N", alt.Tooltip("t:Q", format=".3g"), alt.Tooltip("value:Q", format=".5g")],
        )
        .properties(width=WIDTH, height=HEIGHT, title=heading)
    )
    return chart


def _decades(rows: Rows, field: str = "value") -> alt.Axis:
    """Ticks at powers of ten only: the minor lines of a logarithmic axis would hide the curves."""
    values = [row[field] for row in rows if row[field] is not None] or [1.0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    every = max(1, math.ceil((high - low) / 8))
    return alt.Axis(values=[10.0**power for power in range(low, high + 1, every)], labelExpr=PLAIN)


def _series(name: str, t: Array, values: Iterable[float]) -> Rows:
    """Rows of one line; values that are not finite become gaps, so that all panels share their times."""
    return [
        {"series": name, "t": float(at), "value": float(value) if math.isfinite(value) else None}
        for at, value in zip(t, values, strict=True)
        if at > 0
    ]


def _ratio_panel(found: Curves) -> alt.Chart:
    t = found.t
    lines = {
        "ERM": found.erm.ratio,
        "FTT": found.ftt.ratio,
        "late joining": found.late,
        "upper bound, ERM (Theorem 1)": np.full(t.size, found.upper),
        "limit of FTT (Theorem 3)": np.ones(t.size),
    }
    if found.lower is not None:
        lines["lower bound, ERM (Theorem 2)"] = np.full(t.size, found.lower)
    rows = [row for name, values in lines.items() for row in _series(name, t, values)]
    high = 1.1 * max(row["value"] for row in rows)
    scale = alt.Scale(type="log", domain=[0.96, high], nice=False)
    y = alt.Y("value:Q", title=RATIO, scale=scale, axis=ratio_axis(high))
    return _lines(rows, y, "Test error after retraining")


def _decay_panel(found: Curves) -> alt.Chart:
    rows: Rows = []
    for name, run in (("ERM", found.erm), ("FTT", found.ftt)):
        # Below this the difference is rounding, not error.
        floor = 1e-13 * run.mechanism.err_tr
        rows += _series(name, run.t, np.where(run.gap_tr > floor, run.gap_tr, np.nan))
        if run.c_0 > 0:
            limit = [training_decay(run.mechanism, run.start, run.c_0, at) - run.mechanism.err_tr for at in run.t]
            rows += _series(f"bound, {name}", run.t, np.where(np.array(limit) > floor, limit, np.nan))
    y = alt.Y("value:Q", title="training error − optimum", scale=alt.Scale(type="log"), axis=_decades(rows))
    return _lines(rows, y, "Training error above its optimum")


def _weight_panel(found: Curves) -> alt.Chart:
    rows = [*_series("ERM", found.t, found.erm.c), *_series("FTT", found.t, found.ftt.c)]
    rows += _series("limit", found.t, np.full(found.t.size, 1 - found.erm.mechanism.alpha))
    y = alt.Y("value:Q", title="weight γᵀv on the spurious feature", scale=alt.Scale(zero=False))
    return _lines(rows, y, "Weight on the spurious feature")


def _drift_panel(found: Curves) -> alt.Chart:
    rows: Rows = []
    for name, run in (("ERM", found.erm), ("FTT", found.ftt)):
        rows += _series(name, run.t, np.where(run.drift > 0, run.drift, np.nan))
    y = alt.Y("value:Q", title="largest change", scale=alt.Scale(type="log"), axis=_decades(rows))
    return _lines(rows, y, "Accuracy check: change of the invariant WᵀW − bbᵀ")


def bounds_chart(checks: Sequence[Check]) -> Chart:
    """Measured against bound for Theorems 1 and 2, and the error left around the limits of Theorem 3."""
    panels = (
        ("Theorem 1: upper bound", ("Theorem 1, η_core < η_spu", "Theorem 1, η_core > η_spu")),
        ("Theorem 2, main text (inverse of Σ): lower bound", ("Theorem 2, Σ⁻¹ (main text)",)),
        (
            "Theorem 2, appendix (Σ itself), two units: lower bound",
            ("Theorem 2, Σ (appendix lemma)", "Theorem 2, Σ, x and y in tenths"),
        ),
    )
    drawn: list[Chart] = [
        _against(title, [check for check in checks if check.statement in names])
        for title, names in panels
        if any(check.statement in names for check in checks)
    ]
    drawn.append(_excess_panel(checks))
    rows = [apart(alt.hconcat(*drawn[i : i + 2], spacing=40)) for i in range(0, len(drawn), 2)]
    return headed(
        apart(alt.vconcat(*rows, spacing=26)),
        "Test error / optimum for t → ∞: measured against bound",
        "one mark per setting and start; dashed: measured = bound",
    )


_EXCESS = {
    "Theorem 3, p·m = k": "FTT, k components",
    "late joining, k components": "late joining, k components",
    "FTT 2 % away from it, t = 10⁷": "FTT, 2 % off the excluded noise",
    "late joining 2 % away from it, t = 10⁷": "late joining, 2 % off",
    "FTT stalls at the excluded η_core": "FTT, at the excluded noise",
    "late joining stalls at the excluded η_core": "late joining, at the excluded noise",
    "FTT stalls with k − 1 components": "FTT, k − 1 components",
    "late joining stalls with k − 1 components": "late joining, k − 1 components",
}


def _excess_panel(checks: Sequence[Check]) -> alt.Chart:
    names = list(_EXCESS.values())
    rows = [
        {"case": _EXCESS[check.statement], "excess": max(check.measured - 1, 1e-16), "setting": check.setting}
        for check in checks
        if check.statement in _EXCESS
    ]
    chart: alt.Chart = (
        chart_of(rows)
        .mark_tick(thickness=2, size=20, opacity=0.7)
        .encode(
            x=alt.X(
                "excess:Q",
                title=f"{RATIO} − 1 at t = 1e7",
                scale=alt.Scale(type="log", domain=[1e-16, 10], nice=False),
                axis=alt.Axis(values=[10.0**power for power in range(-16, 2, 4)], labelExpr=PLAIN),
            ),
            y=alt.Y("case:N", title=None, sort=names, axis=alt.Axis(labelLimit=240, grid=True)),
            color=alt.Color("case:N", scale=alt.Scale(domain=names, range=[BLUE] * 4 + [RED] * 4), legend=None),
            tooltip=["case:N", "setting:Q", "excess:Q"],
        )
        .properties(width=260, height=240, title="Theorem 3 and late joining: where the optimum is reached")
    )
    return chart


def _against(title: str, checks: Sequence[Check]) -> Layers:
    values = [value for check in checks for value in (check.measured, check.bound)]
    low, high = min(*values, 1.0) / 1.05, max(values) * 1.1
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    rows = [
        {
            "measured": check.measured,
            "bound": check.bound,
            "outcome": "holds" if check.holds else "violated",
            "setting": check.setting,
            "seed": check.seed,
        }
        for check in checks
    ]
    outcome = alt.Legend(title=None, orient="bottom")
    axis, domain = ratio_axis(high), ["holds", "violated"]
    points = (
        chart_of(rows)
        .mark_point(size=45, opacity=0.75, filled=True)
        .encode(
            x=alt.X("measured:Q", title=f"measured {RATIO}", scale=scale, axis=axis),
            y=alt.Y("bound:Q", title="bound", scale=scale, axis=axis),
            color=alt.Color("outcome:N", scale=alt.Scale(domain=domain, range=[BLUE, RED]), legend=outcome),
            shape=alt.Shape("outcome:N", scale=alt.Scale(domain=domain, range=["circle", "cross"]), legend=outcome),
            tooltip=["setting:Q", "seed:Q", "measured:Q", "bound:Q", "outcome:N"],
        )
    )
    diagonal = chart_of([{"x": low, "y": low}, {"x": high, "y": high}]).mark_line(
        color=INK, strokeDash=[5, 4], strokeWidth=1.2
    )
    line = diagonal.encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale))
    layered: Layers = alt.layer(line, points).properties(width=280, height=240, title=title)
    return layered
