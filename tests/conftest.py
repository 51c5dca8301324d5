"""What every test shares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.browser import chromium

# A busy machine is no failure: properties are judged by their examples, not by the clock.
settings.register_profile("ftt", deadline=None)
settings.load_profile("ftt")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One for all tests of a process: Playwright can be started once in each."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (make browser)")
    path = chromium.executable()
    if path is None:
        pytest.skip("there is no Chromium (make browser installs one where apt and root are available)")
    with api.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


@pytest.fixture
def without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the package had been installed where there is no C compiler."""
    monkeypatch.setattr("ftt.compiled.library", lambda precision: None)
