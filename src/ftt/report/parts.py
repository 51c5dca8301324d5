"""What a section of a page is made of, besides sentences and tables: charts, examples, facts, code, folded parts."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ftt.report.tables import TextTable

if TYPE_CHECKING:
    from altair import TopLevelMixin
    from PIL.Image import Image


PIXELS, SMALL = 160, 64
"""Largest side of an embedded image; up to which side it is kept without loss and shown pixel by pixel."""


@dataclass(frozen=True)
class Figure:
    """A chart with its title and a sentence that states what it shows, for readers who see it and who do not."""

    kind: ClassVar[str] = "figure"

    title: str
    alt: str
    chart: TopLevelMixin
    name: str = "chart"

    def described(self) -> TopLevelMixin:
        """The chart with the sentence as its description, for files."""
        chart: Any = self.chart
        described: TopLevelMixin = chart.properties(description=self.alt)
        return described

    def spec(self) -> dict[str, Any]:
        """The specification that a page draws: in the colours of the text around it."""
        from ftt.report.charts import for_page

        return for_page(self.chart)


@dataclass(frozen=True)
class Example:
    """One image or text of a data set with a few lines below it."""

    alt: str = ""
    image: str = ""
    text: str = ""
    lines: Sequence[str] = ()
    small: bool = False

    @classmethod
    def of_image(cls, image: Image, alt: str, lines: Sequence[str] = ()) -> Example:
        """An embedded image, made smaller where it is large."""
        picture, small = image.convert("RGB"), max(image.size) <= SMALL
        picture.thumbnail((PIXELS, PIXELS))
        sink = io.BytesIO()
        picture.save(sink, "PNG", optimize=True) if small else picture.save(sink, "JPEG", quality=82)
        kind = "png" if small else "jpeg"
        return cls(alt, f"data:image/{kind};base64,{base64.b64encode(sink.getvalue()).decode()}", "", lines, small)


@dataclass(frozen=True)
class Examples:
    """Examples of one group."""

    heading: str
    examples: Sequence[Example]
    note: str = ""


@dataclass(frozen=True)
class Gallery:
    """Groups of examples side by side."""

    kind: ClassVar[str] = "gallery"

    title: str
    groups: Sequence[Examples]
    note: str = ""


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    kind: ClassVar[str] = "facts"

    pairs: Sequence[tuple[str, str]]
    title: str = ""


@dataclass(frozen=True)
class Code:
    """Text that is shown as it is: a command, JSON."""

    kind: ClassVar[str] = "code"

    text: str


@dataclass(frozen=True)
class Notes:
    """A list of sentences."""

    kind: ClassVar[str] = "list"

    lines: Sequence[str]


@dataclass(frozen=True)
class Folded:
    """Parts that are shown on request."""

    kind: ClassVar[str] = "folded"

    summary: str
    parts: Sequence[Any]


@dataclass(frozen=True)
class Link:
    """A file inside the page."""

    label: str
    name: str
    href: str

    @classmethod
    def of_text(cls, label: str, name: str, text: str, media: str) -> Link:
        return cls(label, name, f"data:{media};charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}")


@dataclass(frozen=True)
class Downloads:
    """Files inside the page."""

    kind: ClassVar[str] = "downloads"

    links: Sequence[Link] = field(default_factory=tuple)


def table_links(table: TextTable, name: str = "") -> list[Link]:
    """The table in every format, from one object."""
    stem = file_stem(name or table.title) or "table"
    return [
        Link.of_text("CSV", f"{stem}.csv", table.to_csv(), "text/csv"),
        Link.of_text("JSON", f"{stem}.json", json.dumps(table.to_json(), ensure_ascii=False), "application/json"),
        Link.of_text("Markdown", f"{stem}.md", table.to_markdown(), "text/markdown"),
        Link.of_text("LaTeX", f"{stem}.tex", table.to_latex(), "application/x-tex"),
    ]


def file_stem(text: str) -> str:
    """A short file name of letters, digits and dashes.

    Examples
    --------
    >>> file_stem("../worst group, 95 %")
    'worst-group-95'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:50].strip("-")
