"""Charts of the theory lab in the plane of the two features and in the plane of the two noises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from ftt.report.charts import INK, PALETTE, chart_of
from ftt.report.theory_charts import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PINK,
    RATIO,
    RED,
    SKY,
    Chart,
    Layers,
    Rows,
    apart,
    headed,
    ratio_axis,
)
from ftt.theory.figure3 import PlaneFlow
from ftt.theory.mechanism import Array
from ftt.theory.phases import METHODS, PhaseDiagram, Sweep

COLOUR_TOP = 20.0
BROKEN = "split(datum.label, / (?=[<>])/)"
"""Label of a noise setting on two lines."""
NOISE_TICKS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5)


KINDS = ("v(0), start", "v(t), trained", "v(t), retrained", "β, optimum at test time")


def toy_chart(flows: Sequence[PlaneFlow]) -> Chart:
    """Figure 3: v(t) in the plane (γ to the right, β up), and the two parts of the test error after retraining."""
    path: Rows = []
    marks: Rows = []
    probe: Rows = []
    for each in flows:
        name, v = each.name, each.flow.v
        path += [_point(at, setting=name, i=i) for i, at in enumerate(v)]
        ends = (v[0], v[-1], each.v_test)
        marks += [_point(at, setting=name, point=kind) for kind, at in zip(KINDS, ends, strict=False)]
        probe += [_point(at, setting=name, i=i) for i, at in enumerate(ends[1:])]
    marks.append({"setting": None, "point": KINDS[-1], "x": 0.0, "y": 1.0})
    plane = _plane(path, marks, probe, [each.name for each in flows])
    return headed(
        apart(alt.hconcat(plane, _toy_parts(flows, plane.height), spacing=40)),
        "The paper's Figure 3, computed: two inputs, one learned feature",
    )


def _point(at: Array, **fields: object) -> dict[str, Any]:
    return {**fields, "x": float(at[1]), "y": float(at[0])}


def _plane(path: Rows, marks: Rows, probe: Rows, names: Sequence[str]) -> Any:
    """Paths of training (solid) and retraining (dashed), and their ends."""
    (x, width), (y, height) = (
        _plane_axis([row[axis] for row in (*marks, *path)], axis, title)
        for axis, title in (("x", "along the spurious feature γ"), ("y", "along the core feature β"))
    )
    stroke = alt.Legend(title="noise setting", orient="bottom", columns=1, symbolType="stroke", symbolSize=500)
    colour = alt.Color(
        "setting:N", scale=alt.Scale(domain=list(names), range=[BLUE, RED, GREEN, PINK][: len(names)]), legend=stroke
    )
    shape = alt.Shape(
        "point:N",
        scale=alt.Scale(domain=list(KINDS), range=["circle", "square", "triangle-up", "diamond"]),
        legend=alt.Legend(title="point", orient="bottom", columns=1, symbolFillColor=INK, symbolStrokeColor=INK),
    )
    base = chart_of(marks)
    return alt.layer(
        chart_of(path).mark_line(strokeWidth=2.6).encode(x=x, y=y, color=colour, order="i:Q"),
        chart_of(probe).mark_line(strokeDash=[4, 4], strokeWidth=1.6).encode(x=x, y=y, color=colour, order="i:Q"),
        base.transform_filter("datum.setting !== null")
        .mark_point(size=110, filled=True, opacity=1)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=["setting:N", "point:N", "x:Q", "y:Q"]),
        base.transform_filter("datum.setting === null")
        .mark_point(size=150, filled=True, opacity=1, color=BLACK)
        .encode(x=x, y=y, shape=shape),
    ).properties(width=width, height=height, title="Training v(t) = W(t)b(t) (solid) and retraining (dashed)")


def _plane_axis(values: Sequence[float], axis: str, title: str) -> tuple[Any, float]:
    """One axis of the plane and its length in pixels; both axes have the same pixels per unit, so angles are true."""
    low, high = min(*values, 0.0) - 0.06, max(*values, 1.0) + 0.08
    kind = alt.X if axis == "x" else alt.Y
    return kind(f"{axis}:Q", title=title, scale=alt.Scale(domain=[low, high], nice=False)), 260 * (high - low)


def _toy_parts(flows: Sequence[PlaneFlow], height: float) -> alt.Chart:
    rows: Rows = []
    for each in flows:
        err = each.flow.mechanism.err_te
        rows += [
            {"setting": each.name, "part": "core part of v differs from β", "value": each.approximation / err},
            {"setting": each.name, "part": "spurious noise enters through v", "value": each.spurious / err},
        ]
    chart: alt.Chart = (
        chart_of(rows)
        .mark_bar()
        .encode(
            x=alt.X(
                "setting:N",
                title=None,
                sort=[each.name for each in flows],
                axis=alt.Axis(labelAngle=0, labelExpr=BROKEN),
            ),
            y=alt.Y("value:Q", title=f"{RATIO} − 1"),
            color=alt.Color(
                "part:N",
                scale=alt.Scale(range=[SKY, ORANGE]),
                legend=alt.Legend(title="part of the error", orient="bottom", columns=1),
            ),
            tooltip=["setting:N", "part:N", alt.Tooltip("value:Q", format=".4f")],
        )
        .properties(width=300, height=height, title="Test error above the optimum")
    )
    return chart


def phase_chart(result: PhaseDiagram) -> Chart:
    """Four heat maps of the test error over the noises, on one logarithmic colour scale."""
    network = result.network
    frozen, rest = network.frozen, network.m - network.frozen
    # Values above COLOUR_TOP share one colour; otherwise a single corner would use up the scale.
    high = min(max(float(getattr(result, name).max()) for name in METHODS), COLOUR_TOP)
    maps = [
        _heat(f"ERM, {network.m} trained features", result, result.erm, high),
        _heat(f"PCA, {network.m} components, no training", result, result.pca, high),
        _heat(f"FTT, {frozen} of {network.m} features frozen", result, result.ftt, high),
        _heat(f"Late joining, {frozen} components + {rest} features", result, result.late, high),
    ]
    return headed(
        alt.vconcat(alt.hconcat(*maps[:2], spacing=24), alt.hconcat(*maps[2:], spacing=24), spacing=20),
        f"Test error after retraining / optimum, t = {network.t:g}",
        "solid line: equal noises; dotted line: the core noise that Theorem 3 excludes",
    )


def _edges(grid: Array) -> Array:
    """Borders of the cells of a geometric grid."""
    middle = np.sqrt(grid[1:] * grid[:-1])
    return np.concatenate([[grid[0] ** 2 / middle[0]], middle, [grid[-1] ** 2 / middle[-1]]])


def _heat(title: str, result: PhaseDiagram, values: Array, high: float) -> Layers:
    x_edges, y_edges = _edges(result.eta_spu), _edges(result.eta_core)
    rows = [
        {
            "x": x_edges[j], "x2": x_edges[j + 1], "y": y_edges[i], "y2": y_edges[i + 1],
            "eta_core": result.eta_core[i], "eta_spu": result.eta_spu[j], "ratio": values[i, j],
        }
        for i in range(result.eta_core.size)
        for j in range(result.eta_spu.size)
    ]  # fmt: skip
    rows = [{key: float(value) for key, value in row.items()} for row in rows]
    axis = alt.Axis(grid=False, values=[tick for tick in NOISE_TICKS if x_edges[0] <= tick <= x_edges[-1]], format="~g")
    x_scale = alt.Scale(type="log", domain=[float(x_edges[0]), float(x_edges[-1])], nice=False)
    y_scale = alt.Scale(type="log", domain=[float(y_edges[0]), float(y_edges[-1])], nice=False)
    x = alt.X("x:Q", title="spurious noise η", scale=x_scale, axis=axis)
    y = alt.Y("y:Q", title="core noise η", scale=y_scale, axis=axis)
    ticks = [tick for tick in (1, 1.5, 2, 3, 5, 10, 20) if tick <= high]
    colour = alt.Color(
        "ratio:Q",
        scale=alt.Scale(type="log", scheme="cividis", domain=[1, high], reverse=True, clamp=True),
        legend=alt.Legend(
            title=["test error", "/ optimum"],
            labelExpr=f"datum.value >= {COLOUR_TOP} ? '≥ ' + datum.label : datum.label",
            values=ticks,
            format="~g",
            gradientLength=220,
        ),
    )
    layers: list[alt.Chart] = [
        chart_of(rows)
        .mark_rect(stroke=None)
        .encode(x=x, x2="x2", y=y, y2="y2", color=colour, tooltip=["eta_core:Q", "eta_spu:Q", "ratio:Q"]),
    ]
    if values is result.ftt or values is result.late:
        layers.append(_line(list(zip(result.eta_spu.tolist(), result.excluded.tolist(), strict=True)), [2, 4]))
    else:
        layers.append(_line([(float(e), float(e)) for e in (x_edges[0], x_edges[-1])], [1, 0]))
    layered: Layers = alt.layer(*layers).properties(width=250, height=250, title=title)
    return layered


def _line(points: Sequence[tuple[float, float]], dash: list[int]) -> alt.Chart:
    rows = [{"x": x, "y": y} for x, y in points]
    line: alt.Chart = (
        chart_of(rows)
        .mark_line(color="black", strokeWidth=1.3, strokeDash=dash, clip=True)
        .encode(x="x:Q", y="y:Q", order="x:Q")
    )
    return line


def sweep_chart(sweep: Sweep, names: Sequence[str]) -> Chart:
    """Test error of FTT over the number of frozen components, mean and range over the starts.

    `names` describes the noises of each setting.
    """
    ratios, k = sweep.ratios, sweep.k
    rows = [
        {
            "setting": name, "frozen": frozen,
            "mean": float(values.mean()), "low": float(values.min()), "high": float(values.max()),
        }
        for name, over in zip(names, ratios, strict=True)
        for frozen, values in enumerate(over)
    ]  # fmt: skip
    m = ratios.shape[1] - 1
    colours = alt.Scale(domain=list(names), range=list(PALETTE[: len(names)]))
    x = alt.X("frozen:Q", title=f"number of frozen principal components (0: ERM, {m}: PCA)")
    x = x.axis(tickMinStep=1, grid=False)
    legend = alt.Legend(title=None, orient="bottom", columns=2, symbolStrokeWidth=2)
    colour = alt.Color("setting:N", scale=colours, legend=legend)
    base = chart_of(rows).encode(x=x, color=colour)
    high = 1.1 * float(ratios.max())
    scale = alt.Scale(type="log", domain=[0.95, high], nice=False)
    axis = ratio_axis(high)
    y = alt.Y("mean:Q", title=RATIO, scale=scale, axis=axis)
    mark = chart_of([{"frozen": k, "label": f"k = {k}"}])
    layered: Chart = alt.layer(
        base.mark_rule(strokeWidth=1.4).encode(y=alt.Y("low:Q", title=RATIO, scale=scale, axis=axis), y2="high"),
        base.mark_line(point=False).encode(y=y),
        base.mark_point(filled=True, size=70, opacity=1).encode(
            y=y,
            shape=alt.Shape("setting:N", scale=alt.Scale(domain=list(names)), legend=legend),
            tooltip=["setting:N", "frozen:Q", alt.Tooltip("mean:Q", format=".5g")],
        ),
        mark.mark_rule(color=INK, strokeDash=[5, 4]).encode(x="frozen:Q"),
        mark.mark_text(align="left", dx=5, dy=10, baseline="top", fontSize=12, color=INK).encode(
            x="frozen:Q", y=alt.value(0), text="label:N"
        ),
    )
    return layered.properties(
        width=460,
        height=280,
        title=f"FTT: number of frozen components (t = {sweep.network.t:g}; bars: range over starts)",
    )
