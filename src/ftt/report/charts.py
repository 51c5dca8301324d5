"""One look for every chart, and one way to disk: PNG and SVG for print, HTML that works without a network.

A chart is an altair object. `save` writes it, `fragment` hands its specification to a page that draws many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from ftt.atomic import replacing
from ftt.errors import FttError

PALETTE: tuple[str, ...] = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
"""Okabe and Ito's eight colours, told apart by colour-blind readers; strongest on white first, yellow last."""

FONT = "Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
INK = "#222222"
GRID = "#E3E3E3"
PNG_SCALE = 2.0


@alt.theme.register("ftt", enable=True)
def theme() -> alt.theme.ThemeConfig:
    """The house theme: white ground, readable sizes, thin grid; registered and enabled on import."""
    label = {"labelFont": FONT, "titleFont": FONT, "labelColor": INK, "titleColor": INK}
    axis = {"labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal", "gridColor": GRID}
    config: dict[str, Any] = {
        "background": "white",
        "font": FONT,
        "padding": 8,
        "axis": {**label, **axis, "domainColor": INK, "tickColor": INK, "labelOverlap": "greedy"},
        "legend": {**label, "labelFontSize": 12, "titleFontSize": 12, "labelLimit": 320, "symbolStrokeWidth": 2.5},
        "header": {**label, "labelFontSize": 13, "titleFontSize": 13},
        "title": {"font": FONT, "fontSize": 14, "color": INK, "anchor": "start", "subtitleColor": INK},
        "view": {"stroke": None, "continuousWidth": 380, "continuousHeight": 260},
        "line": {"strokeWidth": 2.2},
        "point": {"size": 50, "filled": True},
        "range": {"category": list(PALETTE), "heatmap": {"scheme": "cividis"}, "ramp": {"scheme": "cividis"}},
    }
    return {"config": config}  # type: ignore[typeddict-item]


def chart_of(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart over plain rows (dicts of JSON values); encode fields with their type, ``"t:Q"``, ``"way:N"``."""
    return alt.Chart(alt.Data(values=[dict(row) for row in rows]))  # type: ignore[no-untyped-call]


def fragment(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """The Vega-Lite specification of a chart, theme and data included, as plain JSON values."""
    with alt.data_transformers.enable("default", max_rows=None):
        spec: dict[str, Any] = chart.to_dict()
    return spec


def save(
    chart: alt.TopLevelMixin, folder: Path, stem: str, formats: Sequence[str] = ("png", "svg", "html")
) -> list[Path]:
    """Write a chart as ``folder/stem.<format>`` and return the paths, in the order of `formats`.

    Each file appears whole or not at all, so that a reader never meets half a picture.

    Parameters
    ----------
    chart : altair chart
        Any top-level altair object (single, layered, concatenated, faceted).
    folder : Path
        Created where it is missing.
    stem : str
        File name without its ending.
    formats : sequence of str
        Some of ``png`` (twice the nominal size), ``svg``, ``html`` (JavaScript inlined), ``json``.
    """
    for name in formats:
        if name not in _WRITERS:
            raise FttError("a chart cannot be written in this format", given=name, allowed=", ".join(sorted(_WRITERS)))
    spec = fragment(chart)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{stem}.{name}" for name in formats]
    for name, path in zip(formats, paths, strict=True):
        with replacing(path) as scratch:
            scratch.write_bytes(_WRITERS[name](spec))
    return paths


def _png(spec: Mapping[str, Any]) -> bytes:
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(dict(spec), scale=PNG_SCALE))


def _svg(spec: Mapping[str, Any]) -> bytes:
    import vl_convert

    return str(vl_convert.vegalite_to_svg(dict(spec))).encode()


def _html(spec: Mapping[str, Any]) -> bytes:
    import vl_convert

    # `bundle` inlines the libraries: the file opens on a machine that has no network.
    return str(vl_convert.vegalite_to_html(dict(spec), bundle=True)).encode()


def _json(spec: Mapping[str, Any]) -> bytes:
    import json

    return json.dumps(spec, ensure_ascii=False).encode()


_WRITERS: dict[str, Callable[[Mapping[str, Any]], bytes]] = {"png": _png, "svg": _svg, "html": _html, "json": _json}
