"""Progress in Python calls: bars in notebooks and at a prompt, silence in scripts."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from ftt.progress import say, shown_on, track
from ftt.screen import shows_progress
from tests.heard import Heard


@shows_progress
def work() -> list[int]:
    say("<started>")
    return list(track(range(3), "counting <b>", 3))


class Notebook:
    """What a notebook offers to those who write to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kernel: object) -> None:
        self.shown: list[list[str]] = []
        ipython, module = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        ipython.get_ipython = lambda: types.SimpleNamespace(kernel=kernel)  # type: ignore[attr-defined]
        module.HTML = str  # type: ignore[attr-defined]
        module.display = self.display  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", module)

    def display(self, content: str, display_id: bool) -> Any:
        states = [content]
        self.shown.append(states)
        return types.SimpleNamespace(update=states.append)


@pytest.fixture(autouse=True)
def _nobody_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FTT_PROGRESS", raising=False)


def test_a_notebook_gets_one_output_per_loop_and_text_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook(monkeypatch, kernel=object())
    assert work() == [0, 1, 2]
    said, bar = notebook.shown
    assert said == ["<small>&lt;started&gt;</small>"]
    assert "counting &lt;b&gt; 0/3" in bar[0]
    assert "3/3" in bar[-1]
    assert 'value="3" max="3"' in bar[-1]


def test_a_script_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    assert work() == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_a_script_can_ask_for_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FTT_PROGRESS", "1")
    work()
    out, err = capsys.readouterr()
    assert (out, err) == ("", "<started>\n")


def test_a_notebook_can_be_silenced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FTT_PROGRESS", "0")
    notebook = Notebook(monkeypatch, kernel=object())
    work()
    assert notebook.shown == []


def test_a_display_that_somebody_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook(monkeypatch, kernel=object())
    with shown_on(heard := Heard()):
        work()
    assert (heard.said, notebook.shown) == (["<started>"], [])


def test_every_result_has_a_frame_and_a_form_for_notebooks() -> None:
    from ftt.data import GroupedData
    from ftt.launch.sweep_result import SweepResult
    from ftt.metrics import GroupReport
    from ftt.result import Result
    from ftt.runs.comparison import Comparison
    from ftt.runs.plan import Plan

    for kind in (GroupedData, GroupReport, Result, Comparison, SweepResult, Plan):
        assert hasattr(kind, "to_frame"), kind
        assert hasattr(kind, "_repr_html_"), kind


def test_the_frame_of_data_has_the_counts_of_every_group() -> None:
    import ftt

    frame = ftt.load("digits", core_noise=0.2).to_frame()
    assert len(frame) == 3 * 2 * 2
    assert frame.rows.sum() == 1400
