"""One chart: the plane of the two noises, what training is expected to do there, and where the data lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from ftt.diagnosis.verdict import clean_accuracy, predicted_gain
from ftt.report.charts import INK, chart_of

if TYPE_CHECKING:
    from ftt.diagnosis.diagnosis import Diagnosis

STEPS = 26


def plane(diagnosis: Diagnosis) -> alt.TopLevelMixin:
    """Predicted gain over both noises, with the diagnosed data as a cross of its two intervals."""
    core, spurious, label = diagnosis.core, diagnosis.spurious, diagnosis.label
    known = core is not None and label is not None
    accuracy = clean_accuracy(label.value, core.value, 2) if core is not None and label is not None else 0.8
    most = max(0.25, 1.1 * max((e.high for e in (core, spurious) if e is not None), default=0.25))
    ground = chart_of(gains(min(most, 0.5), accuracy)).mark_rect()
    axis = alt.Axis(format="%")
    background = ground.encode(
        alt.X("spurious:Q", title="spurious noise: labels that the attribute misses", axis=axis),
        alt.X2("spurious2:Q"),
        alt.Y("core:Q", title="core noise: labels that are wrong", axis=axis),
        alt.Y2("core2:Q"),
        alt.Color(
            "gain:Q",
            title="predicted gain in points",
            scale=alt.Scale(scheme="purpleorange", domainMid=0, domain=[-25, 25], reverse=True),
        ),
    )
    layers: list[Any] = [background]
    if known and core is not None and spurious is not None:
        row = {
            "core": core.value,
            "low": core.low,
            "high": core.high,
            "spurious": spurious.value,
            "left": spurious.low,
            "right": spurious.high,
        }
        place = chart_of([row])
        layers += [
            place.mark_rule(color=INK, strokeWidth=2).encode(x="spurious:Q", y="low:Q", y2="high:Q"),
            place.mark_rule(color=INK, strokeWidth=2).encode(y="core:Q", x="left:Q", x2="right:Q"),
            place.mark_point(color=INK, size=90).encode(x="spurious:Q", y="core:Q"),
        ]
    chart: alt.TopLevelMixin = alt.layer(*layers).properties(
        title=alt.TitleParams(diagnosis.headline, subtitle=f"{diagnosis.name} · {diagnosis.backbone}")
    )
    return chart


def gains(most: float, accuracy: float) -> list[dict[str, float]]:
    """Cells of the plane with their predicted gain in points."""
    edges = np.linspace(0, most, STEPS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    return [
        {
            "core": float(edges[i]),
            "core2": float(edges[i + 1]),
            "spurious": float(edges[j]),
            "spurious2": float(edges[j + 1]),
            "gain": 100 * predicted_gain(float(core), float(spurious), accuracy),
        }
        for i, core in enumerate(middles)
        for j, spurious in enumerate(middles)
    ]
