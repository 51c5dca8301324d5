"""The pages as people use them, in a real browser that has no network."""

from __future__ import annotations

import base64
import csv
import io
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.browser import chromium
from tests.browser.conftest import Opener

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PAGES = ("run_page", "sweep_page", "demo")
every_page = pytest.mark.parametrize("name", PAGES)


@pytest.fixture
def path(request: pytest.FixtureRequest, name: str) -> Path:
    found: Path = request.getfixturevalue(name)
    return found


@every_page
@pytest.mark.parametrize("width", [360, 768, 1440])
def test_nothing_has_to_be_scrolled_sideways(opened: Opener, path: Path, width: int) -> None:
    page = opened(path, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    charts = page.evaluate(
        "[...document.querySelectorAll('.plot svg')].map((svg) => svg.getBoundingClientRect().right)"
    )
    assert charts
    assert all(right <= width for right in charts)


@every_page
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened: Opener, path: Path, scheme: str) -> None:
    script = chromium.axe()
    if script is None:
        pytest.skip("axe-core is not here and npm cannot fetch it")
    page = opened(path, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    page.evaluate(f"window.axe || (() => {{ {script} }})()")
    found = page.evaluate("axe.run().then((result) => result.violations)")
    serious = [rule for rule in found if rule["impact"] in ("serious", "critical")]
    assert [(rule["id"], rule["nodes"][0]["html"][:200], rule["nodes"][0]["failureSummary"]) for rule in serious] == []


@every_page
def test_every_chart_is_described_by_what_it_shows(opened: Opener, path: Path) -> None:
    page = opened(path)
    labels = page.evaluate("[...document.querySelectorAll('.plot')].map((plot) => plot.getAttribute('aria-label'))")
    assert labels
    assert all(any(c.isdigit() for c in label) and "Vega" not in label for label in labels)
    assert "η_" not in page.inner_text("body")


@every_page
def test_the_theme_follows_the_system_until_the_button_is_used(opened: Opener, path: Path) -> None:
    page = opened(path, scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    text = "getComputedStyle(document.querySelector('.plot svg .role-axis-title text')).fill"
    dark, dark_ink = page.evaluate(ground), page.evaluate(text)
    page.click("#theme")
    light, light_ink = page.evaluate(ground), page.evaluate(text)
    assert light == "rgb(255, 255, 255)"
    assert dark != light
    assert dark_ink != light_ink
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"


def test_columns_are_sorted_in_both_directions_and_by_keyboard(opened: Opener, sweep_page: Path) -> None:
    page = opened(sweep_page)
    table = "section:has(h2:text-is('All runs')) [data-table]"
    head = page.locator(table).locator("thead th", has_text="worst group")
    number = head.evaluate("(cell) => cell.cellIndex")
    rows = page.locator(table).locator("tbody tr")

    def values() -> list[float]:
        return [float(rows.nth(n).locator("th,td").nth(number).inner_text()) for n in range(rows.count())]

    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert values() == sorted(values(), reverse=True)
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert values() == sorted(values())


def test_rows_are_filtered_by_what_is_typed(opened: Opener, sweep_page: Path) -> None:
    page = opened(sweep_page)
    table = page.locator("section:has(h2:text-is('All runs')) [data-table]")
    before = table.locator("tbody tr:visible").count()
    table.locator("input[type=search]").fill("init")
    shown = table.locator("tbody tr:visible")
    assert 0 < shown.count() < before
    assert all("init" in text for text in shown.all_inner_texts())
    assert table.locator(".count").inner_text() == f"{shown.count()} of {before} rows"


def test_a_chart_shows_a_tooltip_with_the_numbers_of_its_cell(opened: Opener, run_page: Path) -> None:
    page = opened(run_page)
    page.locator(".plot svg .mark-rect path").first.scroll_into_view_if_needed()
    box = page.locator(".plot svg .mark-rect path").nth(0).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 5)
    tooltip = page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for(timeout=5000)
    assert "accuracy in %" in tooltip.inner_text()
    assert "test rows" in tooltip.inner_text()


def test_the_downloaded_csv_has_the_numbers_of_the_table(opened: Opener, sweep_page: Path) -> None:
    page = opened(sweep_page)
    table = page.locator("section:has(h2:text-is('All runs')) [data-table]")
    with page.expect_download() as waiting:
        table.locator("a", has_text="CSV").click()
    head, *rows = list(csv.reader(io.StringIO(waiting.value.path().read_text())))
    shown = table.locator("tbody tr").evaluate_all("(rows) => rows.map((r) => [...r.cells].map((c) => c.textContent))")
    assert {"worst group", "change"} <= set(head)
    # A minus is plain in a file.
    assert sorted(rows) == sorted([cell.replace("−", "-") for cell in row] for row in shown)


@every_page
def test_the_downloaded_svg_is_the_chart_in_dark_ink_on_white(opened: Opener, path: Path) -> None:
    page = opened(path, scheme="dark")
    with page.expect_download() as waiting:
        page.locator(".chart button.svg").first.click()
    text = waiting.value.path().read_text()
    drawn = ET.fromstring(text)
    assert drawn.tag.endswith("svg")
    assert "color: #222222" in (drawn.get("style") or "")
    assert drawn.get("aria-label") == page.locator(".plot").first.get_attribute("aria-label")
    words = {"".join(node.itertext()) for node in drawn.iter("{http://www.w3.org/2000/svg}text")}
    shown = page.evaluate("[...document.querySelector('.plot svg').querySelectorAll('text')].map((t) => t.textContent)")
    assert words == set(shown)


def test_the_downloaded_png_is_a_picture(opened: Opener, demo: Path) -> None:
    page = opened(demo)
    with page.expect_download() as waiting:
        page.locator(".chart button.png").first.click()
    content = waiting.value.path().read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(content) > 5000


def test_examples_are_embedded_images_that_load(opened: Opener, run_page: Path) -> None:
    page = opened(run_page)
    loaded = page.evaluate("[...document.images].map((image) => image.complete && image.naturalWidth > 0)")
    assert len(loaded) > 8
    assert all(loaded)
    assert base64.b64decode(page.locator("img").first.get_attribute("src").partition(",")[2])
    assert "confidence" in page.inner_text("section:has(h2:text-is('What is classified wrongly'))")


def test_all_headings_are_reached_by_the_links_at_the_top(opened: Opener, run_page: Path) -> None:
    page = opened(run_page)
    targets = page.evaluate(
        "[...document.querySelectorAll('nav a')].map((a) => document.querySelector(a.hash) !== null)"
    )
    assert len(targets) > 3
    assert all(targets)
