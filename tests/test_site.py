"""The documentation site: it builds without a warning, and says what the library says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ftt

ROOT = Path(__file__).parents[1]
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "ftt").rglob("*.py"))
ELSEWHERE = {"operator torchvision::nms does not exist"}
"""Messages of other libraries."""


def test_every_error_of_the_faq_is_one_that_the_library_prints() -> None:
    """Strings of the source that are split over lines count as one."""
    joined = re.sub(r'"\s*\n\s*f?"', "", SOURCES)
    text = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
    for heading in re.findall(r"^### (.*)$", text, flags=re.MULTILINE):
        if heading in ELSEWHERE:
            continue
        for part in heading.split("…"):
            # What the message fills in is braced in the source.
            pattern = r"(?:\{[^}]*\}|\d+)".join(map(re.escape, re.split(r"\d+", part.strip())))
            assert re.search(pattern, joined), heading


def test_every_picture_in_the_documents_says_what_it_shows() -> None:
    for path in (ROOT / "docs").glob("*.md"):
        for words in re.findall(r"!\[(.*?)\]\(", path.read_text(encoding="utf-8")):
            assert len(words.split()) > 2, f"{path.name}: {words!r}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning of the build is a failure."""
    pytest.importorskip("mkdocs", reason="the extra [docs] is not installed")
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.mark.slow
def test_the_site_has_every_public_name_and_asks_no_other_host_for_anything(site: Path) -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert len(pages) > 30
    reference = "".join(text for path, text in pages.items() if path.parent.name == "reference")
    assert [name for name in ftt.__all__ if f'id="ftt.{name}"' not in reference] == ["__version__", "theory"]
    assert 'id="ftt.theory.theorem_1"' in reference
    assert "getfixture" not in reference
    loaded = r"""<(?:script|img|link|iframe)[^>]+(?:src|href)=["']?(https?:)?//"""
    assert [path.name for path, text in pages.items() if re.search(loaded, text)] == []


@pytest.mark.slow
@pytest.mark.browser
def test_search_works_from_disk_without_a_network(site: Path, browser: Any) -> None:
    asked: list[str] = []
    errors: list[str] = []
    page = browser.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{(site / 'index.html').as_uri()}?q=freeze")
    page.wait_for_function("/matching/.test(document.querySelector('.md-search-result__meta').innerText)")
    found = page.inner_text(".md-search-result__list")
    page.close()
    assert "Freeze then Train" in found
    assert errors == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []
