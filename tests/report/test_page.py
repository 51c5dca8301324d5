"""A page opens without a network, escapes what it is given, and appears whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from ftt.report import page as page_module
from ftt.report.page import Block, write_page

CHART = {"mark": "bar", "data": {"values": [{"x": "</script><script>alert(1)</script>"}]}, "title": "<b>"}


def test_page_loads_nothing_from_the_network(tmp_path: Path) -> None:
    text = write_page(tmp_path / "a.html", "T", [], [Block("one", chart=CHART), Block("two", chart=CHART)]).read_text()
    assert "<script src" not in text
    assert "<link" not in text
    assert "cdn.jsdelivr.net" not in text
    assert text.count('vegaEmbed("#chart-') == 2


def test_text_is_escaped_and_a_chart_cannot_end_its_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "drawing_library", lambda: "")
    rows = [["<i>cell</i>", "1"]]
    page = write_page(tmp_path / "a.html", "<T>", ["<p1>"], [Block("<h>", ("a", "b"), rows, chart=CHART)], "<foot>")
    text = page.read_text()
    for raw in ("<T>", "<p1>", "<h>", "<i>cell", "<foot>", "</script><script>alert"):
        assert raw not in text
    assert "&lt;i&gt;cell&lt;/i&gt;" in text


def test_page_without_charts_carries_no_drawing_library(tmp_path: Path) -> None:
    page = write_page(tmp_path / "a.html", "T", ["hello"], [Block("one", ("a",), [["1"]])])
    assert "<script" not in page.read_text()
    assert page.stat().st_size < 5000


def test_empty_row_draws_a_rule_above_the_next() -> None:
    rows = Block("one", ("a",), [["1"], [], ["2"], ["3"]]).ruled_rows()
    assert rows == [{"cells": ["1"], "rule": False}, {"cells": ["2"], "rule": True}, {"cells": ["3"], "rule": False}]
