"""One look for every chart, and one way to disk: PNG and SVG for print, a specification for pages.

A chart is an altair object. `save` writes it, `for_page` hands its specification to a page that draws many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from ftt.atomic import replacing
from ftt.errors import FttError
from ftt.report.typeset import in_svg

PALETTE: tuple[str, ...] = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
"""Okabe and Ito's eight colours, told apart by colour-blind readers; strongest on white first, yellow last."""

FONT = "Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
INK = "#222222"
"""The colour of text and lines; on a page it is that of the text around the chart, so that themes can change."""
ON_LIGHT, ON_DARK = "#111111", "#FFFFFF"
"""The colour of numbers on coloured cells, whatever the theme."""
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


_INKS = {INK: "currentColor", "#222": "currentColor", "black": "currentColor", "#000000": "currentColor"}


def for_page(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """The specification for a page: no ground of its own, and lines and texts in the colour of the text around it."""
    spec = fragment(chart)
    config = spec.setdefault("config", {})
    config["background"] = "transparent"
    config["axis"] = {**config.get("axis", {}), "gridColor": "currentColor", "gridOpacity": 0.15}
    # A page describes the chart itself.
    config["aria"] = False
    inked: dict[str, Any] = _inked(spec)
    return inked


def _inked(value: Any) -> Any:
    if isinstance(value, dict):
        # Data are never colours.
        return {key: part if key in ("values", "datasets") else _inked(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_inked(part) for part in value]
    return _INKS.get(value, value) if isinstance(value, str) else value


def save(chart: alt.TopLevelMixin, folder: Path, stem: str, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
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
        Some of ``png`` (twice the nominal size), ``svg``, ``json``.
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

    return bytes(vl_convert.svg_to_png(_svg(spec).decode(), scale=PNG_SCALE))


def _svg(spec: Mapping[str, Any]) -> bytes:
    import vl_convert

    return in_svg(str(vl_convert.vegalite_to_svg(dict(spec)))).encode()


def _json(spec: Mapping[str, Any]) -> bytes:
    import json

    return json.dumps(spec, ensure_ascii=False).encode()


_WRITERS: dict[str, Callable[[Mapping[str, Any]], bytes]] = {"png": _png, "svg": _svg, "json": _json}
