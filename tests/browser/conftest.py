"""A fresh profile per page, and the pages: of a run, of a sweep, of the demo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ftt
from ftt.paper import demo_page
from ftt.paper.demo_claims import RECIPES, SETTINGS, DemoRow
from tests.planted import with_accuracies

Opener = Callable[..., Any]


class Visitor:
    """Opens pages from disk with the network off, each once; remembers what the browser complains about."""

    def __init__(self, browser: Any) -> None:
        self.context = browser.new_context(offline=True, accept_downloads=True)
        self.pages: dict[Path, Any] = {}
        self.complaints: list[str] = []

    def open(self, path: Path) -> Any:
        page = self.context.new_page()
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", self._dismiss)
        page.on("requestfailed", lambda request: self.complaints.append(f"request: {request.url[:80]}"))
        page.goto(path.as_uri())
        return page

    def _dismiss(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def see(self, path: Path, width: int = 1440, scheme: str = "light") -> Any:
        """The page at this width and in this theme, with its charts drawn for them."""
        page = self.pages.setdefault(path, None) or self.open(path)
        self.pages[path] = page
        page.bring_to_front()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(media="screen", color_scheme=scheme)
        page.evaluate("delete document.documentElement.dataset.theme")
        fits = "[...document.querySelectorAll('.plot')].every((plot) => plot.dataset.room === String(plot.clientWidth))"
        # The page's policy forbids what `wait_for_function` does.
        for _ in range(600):
            if page.evaluate(f"document.documentElement.dataset.charts === 'drawn' && {fits}"):
                return page
            page.wait_for_timeout(100)
        pytest.fail(f"the charts of {path.name} are not drawn after a minute")


@pytest.fixture(scope="session")
def visitor(browser: Any) -> Iterator[Visitor]:
    made = Visitor(browser)
    yield made
    made.context.close()


@pytest.fixture
def opened(visitor: Visitor) -> Iterator[Opener]:
    """Shows a page; at the end of every test nothing may have been logged, asked for or alerted."""
    yield visitor.see
    complaints, visitor.complaints[:] = list(visitor.complaints), []
    assert complaints == []


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="session")
def run_page(folder: Path) -> Path:
    """The page of one real run."""
    result = ftt.run("digits", recipe="ftt", core_noise=0.2, epochs=2, home=folder / "home")
    return ftt.write_report(result, out=folder / "run.html", command="ftt run digits", home=folder / "home")


@pytest.fixture(scope="session")
def sweep_page(folder: Path) -> Path:
    """The page of a real sweep over both noises and three recipes."""
    noises = {"data.core_noise": [0.0, 0.2], "data.spurious_noise": [0.0, 0.2]}
    wanted = {
        "base": {"dataset": "digits", "recipe": "init"},
        "grid": noises,
        "runs": [{"recipe": "ftt", "train.epochs": 1, "grid": {**noises, "p": [0.0, 0.25]}}],
    }
    done = ftt.sweep(wanted, home=folder / "home", resources=ftt.Resources(workers=1, threads=1))
    results = [outcome.result for outcome in done.outcomes if outcome.result is not None]
    return ftt.write_report(results, out=folder / "sweep.html", title="Both noises", home=folder / "home")


@pytest.fixture(scope="session")
def demo(folder: Path) -> Path:
    """The page of the demo, with planted numbers: its six trainings are tested elsewhere."""
    worst = {"init": 0.74, "erm": 0.60, "ftt": 0.75}
    rows = [
        DemoRow(noises, name, with_accuracies(worst[name], worst[name] + 0.05), None if name == "init" else gain)
        for noises in SETTINGS
        for name in RECIPES
        for gain in [worst[name] - worst["init"]]
    ]
    return demo_page.write(rows, "dominoes", folder / "demo")[-1]
