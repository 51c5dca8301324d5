"""What a person sees while waiting."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from ftt.screen import Bars, Lines


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
