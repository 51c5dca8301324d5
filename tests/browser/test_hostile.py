"""Names from data are text everywhere: nothing in them runs, breaks a table or leaves its place."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import ftt
from tests.browser.conftest import Opener

pytestmark = [pytest.mark.browser, pytest.mark.slow]
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on images whose folder, classes and attribute values are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    rng, rows = np.random.default_rng(0), []
    names = (EVIL, "=1+1|b"), ("</script><script>alert(2)</script>", "&_%\x1b[31m")
    place = folder / "img src=x onerror=alert(3)"
    place.mkdir()
    for i in range(240):
        label, attribute = rng.integers(0, 2, 2)
        pixels = np.full((16, 16, 3), 60 + 120 * label, dtype=np.uint8) + rng.integers(
            0, 40, (16, 16, 3), dtype=np.uint8
        )
        pixels[:8, :, 0] = 200 * attribute
        Image.fromarray(pixels).save(place / f"{i} onerror=alert(4).png")
        rows.append([f"{place.name}/{i} onerror=alert(4).png", names[0][label], names[1][attribute]])
    sink = io.StringIO()
    csv.writer(sink).writerows([["path", "y", "attribute"], *rows])
    (folder / "list <b>.csv").write_text(sink.getvalue())
    options: dict[str, Any] = {
        "path": str(folder / "list <b>.csv"),
        "image_root": str(folder),
        "size": 16,
        "backbone": "tinyconv",
    }
    results = [ftt.run("manifest", recipe, home=folder / "home", epochs=1, **options) for recipe in ("init", "erm")]
    return ftt.write_report(results, out=folder / "page.html", title=EVIL, command=f"ftt {EVIL}", home=folder / "home")


def test_hostile_names_are_shown_and_do_nothing(opened: Opener, page: Path) -> None:
    shown = opened(page)
    assert EVIL in shown.inner_text("h1")
    assert shown.inner_text("body").count(EVIL) > 5
    assert shown.locator("img[src=x]").count() == 0
    assert shown.locator("[onerror]").count() == 0
    assert shown.evaluate("document.scripts.length") == 2 + shown.locator(".plot").count()
    shown.locator(".plot svg .mark-rect path").first.scroll_into_view_if_needed()
    box = shown.locator(".plot svg .mark-rect path").first.bounding_box()
    shown.mouse.move(box["x"] + 5, box["y"] + 5)
    tooltip = shown.locator("#vg-tooltip-element.visible")
    tooltip.wait_for(timeout=5000)
    assert tooltip.locator("img").count() == 0
    assert EVIL[:8] in tooltip.inner_text() or "=1+1" in tooltip.inner_text()


def test_hostile_names_leave_their_cell_in_no_download(opened: Opener, page: Path) -> None:
    shown = opened(page)
    table = shown.locator("section:has(h2:text-is('The data')) [data-table]").first
    texts = {}
    for kind in ("CSV", "Markdown", "LaTeX"):
        with shown.expect_download() as waiting:
            table.locator("a", has_text=kind).click()
        texts[kind] = waiting.value.path().read_text()
    head, *rows = list(csv.reader(io.StringIO(texts["CSV"])))
    assert not [cell for row in (head, *rows) for cell in row if cell.startswith(("=", "+", "@"))]
    assert "'=1+1|b" in [row[1] for row in rows]
    lines = [line for line in texts["Markdown"].splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in lines} == {len(head) + 1}
    assert "<" not in texts["Markdown"]
    assert r"\&\_\%" in texts["LaTeX"]
    assert "\x1b" not in "".join(texts.values())
