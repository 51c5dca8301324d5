"""A page opens without a network, escapes what it is given, and appears whole."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from ftt.report import page as page_module
from ftt.report.charts import chart_of
from ftt.report.drawing import drawing_library
from ftt.report.formats import Strong
from ftt.report.page import SHOWN, Page, Section, render, write
from ftt.report.parts import Code, Example, Examples, Facts, Figure, Folded, Gallery, Notes, file_stem
from ftt.report.tables import TextTable

NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\" onclick='x'"
CHART = chart_of([{"x": NASTY}]).mark_point().encode(x="x:N")


def one(*parts: object) -> Page:
    return Page("T", ["It works."], [Section("S", parts)])


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "drawing_library", lambda: "")


def test_page_loads_nothing_from_the_network_and_runs_nothing_but_its_own_scripts() -> None:
    text = render(one(Figure("one", "a", CHART), Figure("two", "b", CHART)))
    assert "<script src" not in text
    assert "<link" not in text
    assert "cdn.jsdelivr.net" not in text
    scripts = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    allowed = re.search(r"script-src ([^;]*);", text)
    assert allowed is not None
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert allowed[1] == " ".join(f"'sha256-{one}'" for one in hashes)
    assert "default-src 'none'" in text


def test_every_part_shows_hostile_text_as_text(without_library: None) -> None:
    example = Example.of_image(Image.new("RGB", (8, 8)), NASTY, [NASTY])
    parts = (
        NASTY,
        TextTable(NASTY, (NASTY, NASTY), [[NASTY, Strong(NASTY)]] * 7),
        Figure(NASTY, NASTY, CHART, NASTY),
        Gallery(NASTY, [Examples(NASTY, [example, Example(text=NASTY)], NASTY)], NASTY),
        Facts([(NASTY, NASTY)], NASTY),
        Code(NASTY),
        Notes([NASTY]),
        Folded(NASTY, [NASTY]),
    )
    text = render(Page(NASTY, [NASTY], [Section(NASTY, parts)] * 3, NASTY, NASTY))
    tags, shown = read_tags(text)
    assert not [name for _, names in tags for name in names if name.startswith("on")]
    assert {name for name, _ in tags if name in ("script", "img")} == {"script", "img"}
    assert sum(name == "img" for name, _ in tags) == 3
    assert shown.count("<img src=x onerror=alert(1)>") > 30


def read_tags(text: str) -> tuple[list[tuple[str, list[str]]], str]:
    """Every tag with the names of its attributes, and the text between them, as a browser reads them."""
    tags: list[tuple[str, list[str]]] = []
    shown: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append((tag, [name for name, _ in attrs]))

        def handle_data(self, data: str) -> None:
            shown.append(data)

    Reader().feed(text)
    return tags, "".join(shown)


def test_page_without_charts_carries_no_drawing_library() -> None:
    assert len(render(one(TextTable("t", ("a",), [["1"]])))) < 40_000


def test_empty_row_draws_a_rule_above_the_next_and_bold_cells_are_strong() -> None:
    text = render(one(TextTable("t", ("a", "b"), [["1", "x"], [], ["2", Strong("y")], ["3", "z"]])))
    assert re.findall(r'<tr role="row"( class="rule")?><th role="rowheader"', text) == ["", ' class="rule"', ""]
    assert "<strong>y</strong>" in text


def test_long_tables_are_folded_and_offer_all_rows() -> None:
    text = render(one(TextTable("t", ("a",), [[str(i)] for i in range(SHOWN + 5)])))
    assert text.count('class="more"') == 5
    assert f"Show all {SHOWN + 5} rows" in text


def test_downloads_hold_the_table_in_four_formats() -> None:
    table = TextTable("All of it", ("a", "b"), [["x|y", "−1.5"], [], ["&_%", Strong("2")]])
    links = dict(re.findall(r'download="all-of-it\.(\w+)" href="data:[^,]*base64,([^"]*)"', render(one(table))))
    held = {kind: base64.b64decode(text).decode() for kind, text in links.items()}
    assert held["csv"] == "a,b\r\nx|y,-1.5\r\n&_%,2\r\n"
    assert held["md"] == table.to_markdown()
    assert held["tex"] == table.to_latex()
    assert r"\&\_\% & \textbf{2} \\" in held["tex"]
    assert set(held) == {"csv", "json", "md", "tex"}


def test_symbols_have_real_subscripts_in_text_and_words_in_attributes(without_library: None) -> None:
    text = render(one("noise η_core", Figure("f", "gain over η_spu", CHART)))
    assert "noise η<sub>core</sub>" in text
    assert 'aria-label="gain over η spu"' in text


def test_file_names_are_made_of_harmless_characters() -> None:
    assert file_stem("../../etc/passwd") == "etc-passwd"
    assert file_stem(NASTY).replace("-", "").isalnum()


def test_page_is_written_whole_into_new_folders(tmp_path: Path) -> None:
    path = write(tmp_path / "new" / "a.html", one("hello"))
    assert path.read_text().endswith("</html>")
    assert [entry.name for entry in path.parent.iterdir()] == ["a.html"]


def test_a_damaged_drawing_library_is_bundled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FTT_CACHE", str(tmp_path))
    made: list[str] = []

    def bundle(snippet: str) -> str:
        made.append(snippet)
        return "drawn();"

    monkeypatch.setattr("vl_convert.javascript_bundle", bundle)
    for _ in range(2):
        drawing_library.cache_clear()
        assert drawing_library() == "drawn();"
    assert len(made) == 1
    (path,) = tmp_path.rglob("*.js")
    path.write_text(path.read_text().replace("drawn", "evil"))
    drawing_library.cache_clear()
    assert drawing_library() == "drawn();"
    assert len(made) == 2
    drawing_library.cache_clear()
