"""Symbols with real subscripts: η_core in plain text is η with a small, lowered "core" in pages and charts."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from ftt.plain_text import printable

_SUBSCRIPT = re.compile(r"(η|ℓ|err\*|λ|v|c)_(core|spu|test|te|tr|t|k|0)(?![\w])")
_TEXT = re.compile(r"(<text\b[^>]*>)([^<]*)(</text>)")

_LABEL = re.compile(r'aria-label="[^"]*"')


def in_html(text: str) -> Markup:
    """Plain text as HTML: nothing in it is markup, symbols of the paper get their subscripts.

    Examples
    --------
    >>> in_html("η_core < 1")
    Markup('η<sub>core</sub> &lt; 1')
    """
    return Markup(_SUBSCRIPT.sub(r"\1<sub>\2</sub>", str(escape(printable(text)))))


def in_words(text: str) -> str:
    """Plain text for attributes and descriptions, which have no subscripts.

    Examples
    --------
    >>> in_words("gain over η_core")
    'gain over η core'
    """
    return _SUBSCRIPT.sub(r"\1 \2", printable(text))


def in_svg(picture: str) -> str:
    """An SVG whose texts have their subscripts lowered.

    Examples
    --------
    >>> in_svg("<text>η_spu in %</text>")
    '<text>η<tspan dy="3" font-size="80%">spu</tspan><tspan dy="-3"> in %</tspan></text>'
    """
    lowered = _TEXT.sub(lambda found: found[1] + _lowered(found[2]) + found[3], picture)
    return _LABEL.sub(lambda found: _SUBSCRIPT.sub(r"\1 \2", found[0]), lowered)


def _lowered(text: str) -> str:
    parts = _SUBSCRIPT.split(text)
    if len(parts) == 1:
        return text
    # Parts come in threes: what is before a symbol, the symbol, its subscript.
    out = parts[0] + parts[1]
    for place in range(2, len(parts), 3):
        after = parts[place + 1] + (parts[place + 2] if place + 2 < len(parts) else "")
        out += f'<tspan dy="3" font-size="80%">{parts[place]}</tspan>'
        out += f'<tspan dy="-3">{after}</tspan>' if after else ""
    return out
