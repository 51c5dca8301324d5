"""What a person sees while waiting."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from ftt import screen
from ftt.progress import At
from ftt.screen import Bars, Lines, NotebookBars


def test_brackets_in_a_message_are_shown_and_not_taken_for_markup() -> None:
    bars, shown = Bars(), io.StringIO()
    bars.console = Console(file=shown, width=80)
    bars.say("no answer: [Errno -2] name not known [/close]")
    assert shown.getvalue().strip() == "no answer: [Errno -2] name not known [/close]"


def test_lines_count_on_from_what_was_done_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(Lines(every=0.0).track("ab", "training", 5, 3)) == ["a", "b"]
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("training: 4/5, about ")
    assert told[-1].startswith("training: 5/5, about 0 s left")


def test_runs_elsewhere_have_a_bar_each_which_goes_with_them() -> None:
    bars = Bars()

    def shown() -> list[tuple[str, float, float | None]]:
        return [(task.description, task.completed, task.total) for task in bars.progress.tasks]

    bars.report("run 7", At("features of val", 2, 4))
    bars.report("run 8", At("training", 1, 9))
    bars.report("run 7", At("training", 3, 9))
    bars.report("run 7", At("training", 5, 9))
    assert shown() == [("run 8: training", 1, 9), ("run 7: training", 5, 9)]
    bars.report("run 8", None)
    bars.report("run 9", None)
    assert shown() == [("run 7: training", 5, 9)]


def test_a_cluster_does_not_fill_the_screen() -> None:
    bars = Bars()
    for number in range(100):
        bars.report(f"run {number}", At("training", 1, 9))
    assert len(bars.progress.tasks) == 8
    bars.report("run 0", None)
    bars.report("run 99", At("training", 2, 9))
    assert [task.description for task in bars.progress.tasks][-1] == "run 99: training"


def test_lines_about_runs_elsewhere_say_how_long_they_take(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines(elsewhere=0.0)
    lines.report("run 7", At("training", 3, 9))
    lines.report("run 7", At("training", 6, 9))
    lines.report("run 7", At("features of val", 1, 2))
    lines.report("run 7", None)
    lines.report("run 7", At("features of val", 2, 2))
    assert capsys.readouterr().err == "run 7: training: 6/9, about 0 s left\n"


def test_bars_of_a_notebook_go_with_the_runs_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def put(text: str) -> SimpleNamespace:
        shown.append(text)
        return SimpleNamespace(update=shown.append)

    monkeypatch.setattr(screen, "_display_html", put)
    monkeypatch.setattr(screen, "_html", lambda text: text)
    bars = NotebookBars()
    bars.report("run 7", At("training", 3, 9))
    bars.report("run 7", At("training", 4, 9))
    bars.report("run 7", None)
    bars.report("run 7", None)
    assert shown == [
        '<div><progress value="3" max="9"></progress> run 7: training 3/9</div>',
        '<div><progress value="4" max="9"></progress> run 7: training 4/9</div>',
        "",
    ]
