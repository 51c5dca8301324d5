"""One HTML file that opens without a network: text, tables and interactive charts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ftt.atomic import replacing

TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
 body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
 h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
 table { border-collapse: collapse; margin: 1rem 0; } caption { text-align: left; color: #555; padding-bottom: .3rem; }
 th, td { padding: .3rem .8rem; border-bottom: 1px solid #ddd; text-align: right; font-variant-numeric: tabular-nums; }
 th { border-bottom: 2px solid #888; } td.word, th.word { text-align: left; }
  td { white-space: nowrap; } tr.rule td { border-top: 2px solid #888; }
 code { background: #f3f3f3; padding: .1rem .3rem; border-radius: 3px; } .small { color: #555; font-size: .9rem; }
</style></head><body>
<h1>{{ title }}</h1>
{% for paragraph in paragraphs %}<p>{{ paragraph }}</p>
{% endfor %}
{% for block in blocks %}
<h2>{{ block.heading }}</h2>
{% if block.rows %}<table>
<tr>{% for column in block.columns %}<th{% if loop.index0 < block.left %} class="word"{% endif %}>{{ column }}</th>
{%- endfor %}</tr>
{% for row in block.ruled_rows() %}<tr{% if row.rule %} class="rule"{% endif %}>
{%- for cell in row.cells %}<td{% if loop.index0 < block.left %} class="word"{% endif %}>{{ cell }}</td>
{%- endfor %}</tr>
{% endfor %}</table>{% endif %}
{% if block.chart %}<div id="chart-{{ loop.index }}"></div>{% endif %}
{% endfor %}
<p class="small">{{ footer }}</p>
{% if charts %}<script>{{ library }}</script>
<script>
{% for number, chart in charts %}vegaEmbed("#chart-{{ number }}", {{ chart }}, {actions: false, renderer: "svg"});
{% endfor %}</script>{% endif %}
</body></html>
"""


@dataclass(frozen=True)
class Block:
    """One heading with a table, a chart (Vega-Lite, as plain JSON) or both; an empty row draws a rule."""

    heading: str
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    chart: dict[str, Any] | None = None
    left: int = 2

    def ruled_rows(self) -> list[dict[str, Any]]:
        out, rule = [], False
        for row in self.rows:
            if row:
                out.append({"cells": row, "rule": rule})
            rule = not row
        return out


@cache
def drawing_library() -> str:
    """The JavaScript that draws charts; bundling it takes seconds, so it is done once."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle


def write_page(path: Path, title: str, paragraphs: Sequence[str], blocks: Sequence[Block], footer: str = "") -> Path:
    """Render the page; the drawing library is inlined once, however many charts there are."""
    import jinja2
    from markupsafe import Markup

    charts = [
        # "</script" inside a JSON text would end the script element, "<!--<script" would keep it from ending.
        (number, Markup(json.dumps(block.chart).replace("<", "\\u003c")))
        for number, block in enumerate(blocks, start=1)
        if block.chart
    ]
    page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(TEMPLATE)
    library = Markup(drawing_library()) if charts else ""
    text = page.render(title=title, paragraphs=paragraphs, blocks=blocks, charts=charts, library=library, footer=footer)
    with replacing(path) as scratch:
        scratch.write_text(text, encoding="utf-8")
    return path
