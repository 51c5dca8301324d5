"""Charts of the theory lab over time and over settings, built from the plain results of `ftt.theory`.

Times and errors are those of the paper's population flow and carry no unit; axes name the paper's symbols.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import numpy as np

from ftt.report.charts import INK, PALETTE, chart_of
from ftt.theory.bounds import theorem_1, theorem_2, training_decay
from ftt.theory.flow import Flow
from ftt.theory.mechanism import Array
from ftt.theory.survey import Check

Rows = list[dict[str, Any]]
Layers = alt.LayerChart | alt.FacetChart
Chart = alt.Chart | Layers | alt.HConcatChart | alt.VConcatChart

BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK = PALETTE[:7]
TIME = "training time t"
WIDTH, HEIGHT = 360, 230
PLAIN = "datum.value >= 0.01 && datum.value < 1e4 ? format(datum.value, '~g') : format(datum.value, '.0e')"


def ratio_axis(high: float) -> alt.Axis:
    """Ticks of a logarithmic ratio axis from 1 to `high`: finer where there is room for them."""
    ticks = (1, 1.2, 1.5, 2, 3, 5, 10) if high < 8 else (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    return alt.Axis(values=[tick for tick in ticks if tick <= high], format="~g")


def headed(chart: Chart, text: str, subtitle: str | None = None) -> Chart:
    """A chart under a heading that keeps its distance from the headings of the panels."""
    title = alt.Title(text, offset=14) if subtitle is None else alt.Title(text, subtitle=subtitle, offset=14)
    return chart.properties(title=title)


def apart(chart: Chart) -> Chart:
    """Panels with a legend each."""
    made: Chart = chart.resolve_scale(color="independent", shape="independent", strokeDash="independent")
    return made


def flow_chart(erm: Flow, ftt: Flow) -> Chart:
    """Four panels over t: test ratio with its bounds, training error with its decay bound, c_t, the invariant."""
    mechanism = erm.mechanism
    title = (
        f"Gradient flow, d = {mechanism.d}, m = {erm.b.shape[1]}, k = {mechanism.k}, p·m = {ftt.start.frozen}, "
        f"η_core = {mechanism.eta_core:g}, η_spu = {mechanism.eta_spu:g}"
    )
    above = apart(alt.hconcat(_ratio_panel(erm, ftt), _decay_panel(erm, ftt), spacing=30))
    below = apart(alt.hconcat(_c_panel(erm, ftt), _drift_panel(erm, ftt), spacing=30))
    return headed(apart(alt.vconcat(above, below, spacing=26)), title)


def _lines(rows: Rows, styles: Sequence[tuple[str, str, Sequence[int]]], y: alt.Y, heading: str) -> alt.Chart:
    """Lines over t; each series has a colour and a dash, so that it is told apart without colour too."""
    names = [name for name, _, _ in styles if any(row["series"] == name for row in rows)]
    kept = [style for style in styles if style[0] in names]
    legend = alt.Legend(title=None, orient="bottom", columns=2, symbolType="stroke", symbolSize=500)
    domain = [name for name, _, _ in kept]
    chart: alt.Chart = (
        chart_of(rows)
        .mark_line(clip=True)
        .encode(
            x=alt.X("t:Q", title=TIME, scale=alt.Scale(type="log", nice=False), axis=_decades(rows, "t")),
            y=y,
            color=alt.Color(
                "series:N", scale=alt.Scale(domain=domain, range=[colour for _, colour, _ in kept]), legend=legend
            ),
            strokeDash=alt.StrokeDash(
                "series:N", scale=alt.Scale(domain=domain, range=[list(dash) for _, _, dash in kept]), legend=legend
            ),
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
    """Rows of one line; what is not a number becomes a gap, so that all panels share their times."""
    return [
        {"series": name, "t": float(at), "value": float(value) if math.isfinite(value) else None}
        for at, value in zip(t, values, strict=True)
        if at > 0
    ]


def _ratio_panel(erm: Flow, ftt: Flow) -> alt.Chart:
    mechanism, t = erm.mechanism, erm.t
    rows = [*_series("ERM, measured", t, erm.ratio), *_series("FTT, measured", ftt.t, ftt.ratio)]
    upper = theorem_1(mechanism, any_order=True) / mechanism.err_te
    rows += _series("Theorem 1, upper (ERM)", t, np.full(t.size, upper))
    if mechanism.eta_core > mechanism.eta_spu and erm.b.shape[1] <= mechanism.d1:
        rows += _series("Theorem 2, lower (ERM)", t, np.full(t.size, theorem_2(mechanism, erm.W[-1])))
    rows += _series("Theorem 3, limit (FTT)", t, np.ones(t.size))
    styles = [
        ("ERM, measured", BLUE, [1, 0]),
        ("FTT, measured", RED, [1, 0]),
        ("Theorem 1, upper (ERM)", SKY, [7, 4]),
        ("Theorem 2, lower (ERM)", GREEN, [2, 3]),
        ("Theorem 3, limit (FTT)", BLACK, [9, 3, 2, 3]),
    ]
    high = 1.1 * max(row["value"] for row in rows)
    scale = alt.Scale(type="log", domain=[0.96, high], nice=False)
    y = alt.Y("value:Q", title="ℓ_te(W(t)) / err*_te", scale=scale, axis=ratio_axis(high))
    return _lines(rows, styles, y, "Test error after retraining b")


def _decay_panel(erm: Flow, ftt: Flow) -> alt.Chart:
    rows: Rows = []
    for name, run in (("ERM", erm), ("FTT", ftt)):
        # Below this the difference is rounding, not error.
        floor = 1e-13 * run.mechanism.err_tr
        rows += _series(f"{name}, measured", run.t, np.where(run.gap_tr > floor, run.gap_tr, np.nan))
        if run.c_0 > 0:
            limit = [training_decay(run.mechanism, run.start, run.c_0, at) - run.mechanism.err_tr for at in run.t]
            rows += _series(f"{name}, bound", run.t, np.where(np.array(limit) > floor, limit, np.nan))
    styles = [
        ("ERM, measured", BLUE, [1, 0]),
        ("FTT, measured", RED, [1, 0]),
        ("ERM, bound", SKY, [7, 4]),
        ("FTT, bound", ORANGE, [2, 3]),
    ]
    axis = _decades(rows)
    y = alt.Y("value:Q", title="ℓ_tr(t) − err*_tr", scale=alt.Scale(type="log"), axis=axis)
    return _lines(rows, styles, y, "Training error above its optimum")


def _c_panel(erm: Flow, ftt: Flow) -> alt.Chart:
    rows = [*_series("ERM, measured", erm.t, erm.c), *_series("FTT, measured", ftt.t, ftt.c)]
    rows += _series("limit 1 − α", erm.t, np.full(erm.t.size, 1 - erm.mechanism.alpha))
    styles = [
        ("ERM, measured", BLUE, [1, 0]),
        ("FTT, measured", RED, [1, 0]),
        ("limit 1 − α", BLACK, [9, 3, 2, 3]),
    ]
    y = alt.Y("value:Q", title="c_t = γᵀ W_2(t) b(t)", scale=alt.Scale(zero=False))
    return _lines(rows, styles, y, "Weight on the spurious feature")


def _drift_panel(erm: Flow, ftt: Flow) -> alt.Chart:
    rows: Rows = []
    for name, run in (("ERM", erm), ("FTT", ftt)):
        rows += _series(name, run.t, np.where(run.drift > 0, run.drift, np.nan))
    axis = _decades(rows)
    y = alt.Y("value:Q", title="max |M(t) − M(0)|", scale=alt.Scale(type="log"), axis=axis)
    styles = [("ERM", BLUE, [1, 0]), ("FTT", RED, [7, 4])]
    return _lines(rows, styles, y, "Error gauge: M = WᵀW − bbᵀ must not move")


def bounds_chart(checks: Sequence[Check]) -> Chart:
    """Measured against bound for Theorems 1 and 2, and the error that is left around the edges of Theorem 3."""
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
        "Limits t → ∞ of ℓ_te/err*_te, measured against bound",
        "one point per setting and start; dashed: measured = bound",
    )


def _excess_panel(checks: Sequence[Check]) -> alt.Chart:
    names = {
        "Theorem 3, p·m = k": "p·m = k",
        "no stall 2 % away": "p·m = k, 2 % off excluded",
        "stall at the excluded η_core": "p·m = k, excluded η_core",
        "stall with p·m = k − 1": "p·m = k − 1",
    }
    rows = [
        {"case": names[check.statement], "excess": max(check.measured - 1, 1e-16), "setting": check.setting}
        for check in checks
        if check.statement in names
    ]
    chart: alt.Chart = (
        chart_of(rows)
        .mark_tick(thickness=2, size=26, opacity=0.7)
        .encode(
            x=alt.X(
                "excess:Q",
                title="ℓ_te(W(t)) / err*_te − 1 at t = 1e7",
                scale=alt.Scale(type="log", domain=[1e-16, 10], nice=False),
                axis=alt.Axis(values=[10.0**power for power in range(-16, 2, 4)], labelExpr=PLAIN),
            ),
            y=alt.Y("case:N", title=None, sort=list(names.values()), axis=alt.Axis(labelLimit=220, grid=True)),
            color=alt.Color(
                "case:N", scale=alt.Scale(domain=list(names.values()), range=[BLUE, BLUE, RED, RED]), legend=None
            ),
            tooltip=["case:N", "setting:Q", "excess:Q"],
        )
        .properties(width=260, height=240, title="Theorem 3: where FTT reaches the optimum")
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
    axis = ratio_axis(high)
    points = (
        chart_of(rows)
        .mark_point(size=45, opacity=0.75, filled=True)
        .encode(
            x=alt.X("measured:Q", title="measured ℓ_te(W(∞)) / err*_te", scale=scale, axis=axis),
            y=alt.Y("bound:Q", title="bound", scale=scale, axis=axis),
            color=alt.Color(
                "outcome:N", scale=alt.Scale(domain=["holds", "violated"], range=[BLUE, RED]), legend=outcome
            ),
            shape=alt.Shape(
                "outcome:N", scale=alt.Scale(domain=["holds", "violated"], range=["circle", "cross"]), legend=outcome
            ),
            tooltip=["setting:Q", "seed:Q", "measured:Q", "bound:Q", "outcome:N"],
        )
    )
    diagonal = chart_of([{"x": low, "y": low}, {"x": high, "y": high}]).mark_line(
        color=INK, strokeDash=[5, 4], strokeWidth=1.2
    )
    line = diagonal.encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale))
    layered: Layers = alt.layer(line, points).properties(width=280, height=240, title=title)
    return layered
