"""One HTML file that opens without a network: the design of every page of the library.

A page is a title, the takeaway in a sentence or two, and sections of parts (`ftt.report.parts`): sentences, tables,
charts, examples, facts. `write` renders it. Text is text: nothing that is passed in is taken for markup.

>>> from ftt.report.tables import TextTable
>>> table = TextTable("Accuracy in %", ("group", "accuracy"), [["left", "74.2"]])
>>> page = Page("A run", ["The worst group is right 74.2 % of the time."], [Section("Groups", [table])])
>>> "74.2" in render(page)
True
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from ftt.atomic import replacing
from ftt.report.drawing import drawing_library
from ftt.report.formats import Strong
from ftt.report.parts import Figure, Folded, Link, table_links
from ftt.report.tables import TextTable
from ftt.report.typeset import in_html, in_words
from ftt.version import __version__

SHOWN = 25
"""Rows of a table that are shown before the others are asked for."""

FOOTER = f"Made by ftt {__version__}. Paper: Ye, Zou, Zhang, Freeze then Train, AISTATS 2023."


@dataclass(frozen=True)
class Section:
    """A heading, and what is below it: sentences (str), tables, and the parts of `ftt.report.parts`."""

    heading: str
    parts: Sequence[Any]


@dataclass(frozen=True)
class Page:
    """What is on a page, from top to bottom."""

    title: str
    takeaway: Sequence[str]
    sections: Sequence[Section]
    subtitle: str = ""
    footer: str = FOOTER


def write(path: Path, page: Page) -> Path:
    """Write the page, whole or not at all."""
    text = render(page)
    with replacing(path) as scratch:
        scratch.write_text(text, encoding="utf-8")
    return path


def render(page: Page) -> str:
    """The page as HTML; the drawing library is inlined once, and only where there are charts."""
    drawn = any(isinstance(part, Figure) for section in page.sections for part in _flat(section.parts))
    library, script = (drawing_library() if drawn else ""), _asset("page.js")
    content: str = _template().render(
        page=page,
        css=Markup(_asset("page.css")),
        library=Markup(library),
        script=Markup(script),
        policy=Markup(_policy([text for text in (library, script) if text])),
    )
    return content


def _flat(parts: Sequence[Any]) -> Iterator[Any]:
    for part in parts:
        yield part
        if isinstance(part, Folded):
            yield from _flat(part.parts)


def _policy(scripts: Sequence[str]) -> str:
    """What the browser may do: run our own scripts, nothing else, and load nothing from anywhere."""
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


@dataclass(frozen=True)
class _Row:
    cells: Sequence[str]
    rule: bool

    def classes(self, place: int) -> str:
        return " ".join(name for name, there in (("rule", self.rule), ("more", place >= SHOWN)) if there)


class _TableView:
    """A table as the template sees it."""

    kind = "table"

    def __init__(self, table: TextTable) -> None:
        self.table = table
        self.title, self.columns, self.left = table.title, table.columns, table.left
        self.rows: list[_Row] = []
        rule = False
        for row in table.rows:
            if row:
                self.rows.append(_Row(row, rule and bool(self.rows)))
            rule = not row

    def body(self) -> list[_Row]:
        return self.rows

    def hidden(self) -> bool:
        return len(self.rows) > SHOWN


@cache
def _template() -> Any:
    import jinja2

    made = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_typeset
    )
    made.filters |= {"plain": _plain, "cell": _cell, "links": _links, "spec": _spec, "view": _view}
    return made.from_string(_asset("page.html"))


@cache
def _asset(name: str) -> str:
    return files("ftt.report").joinpath("assets", name).read_text(encoding="utf-8")


def _typeset(value: Any) -> Any:
    return in_html(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _plain(text: str) -> Markup:
    """For attributes, where there are no subscripts."""
    return escape(in_words(text))


def _cell(text: str) -> Markup:
    return Markup("<strong>") + in_html(text) + Markup("</strong>") if isinstance(text, Strong) else in_html(text)


@dataclass(frozen=True)
class _Sentence:
    text: str
    kind: str = "sentence"


def _view(part: Any) -> Any:
    if isinstance(part, str):
        return _Sentence(part)
    return _TableView(part) if isinstance(part, TextTable) else part


def _links(view: _TableView) -> list[Link]:
    return table_links(view.table)


def _spec(figure: Figure) -> Markup:
    # "</script" inside a JSON text would end the script element, "<!--<script" would keep it from ending.
    return Markup(json.dumps(figure.spec(), ensure_ascii=False).replace("<", "\\u003c"))
