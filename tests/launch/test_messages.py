"""What workers have to say reaches the driver: messages at once, progress now and then."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from ftt.launch import local
from ftt.launch.local import Answer, Task, in_processes
from ftt.launch.messages import Messages, pass_on
from ftt.launch.worker import Wire
from ftt.progress import At, shown_on
from tests.heard import Heard


class Sent(Messages):
    def __init__(self, every: float) -> None:
        self.every = every
        self.messages: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        self.messages.append(message)


def test_progress_counts_what_was_done_before() -> None:
    sent = Sent(every=0.0)
    assert list(sent.track("ab", "training", 5, 3)) == ["a", "b"]
    assert sent.messages == [{"at": ["training", 4, 5]}, {"at": ["training", 5, 5]}]


def test_loops_that_end_soon_are_not_reported() -> None:
    sent = Sent(every=3600.0)
    assert list(sent.track(range(100), "training", 100, 0))
    assert sent.messages == []


def test_messages_are_shown_with_the_name_of_who_sent_them() -> None:
    with shown_on(heard := Heard()):
        pass_on("run 7", {"say": "resuming"})
        pass_on("run 7", {"at": ["training", 4, 5]})
        pass_on("run 7", {"at": None})
    assert heard.said == ["run 7: resuming"]
    assert heard.reported == [("run 7", At("training", 4, 5)), ("run 7", None)]


def test_a_pipe_carries_one_message_a_line() -> None:
    wire = Wire(sink := io.StringIO())
    wire.say("two\nlines")
    wire.send({"at": ["training", 1, 2]})
    assert [json.loads(line) for line in sink.getvalue().splitlines()] == [
        {"say": "two\nlines"},
        {"at": ["training", 1, 2]},
    ]


def scripted(script: list[dict[str, Any] | None]) -> Callable[[int, local.Inbox], Any]:
    """Workers that send what is written here as soon as they get an order."""

    class Scripted:
        def __init__(self, threads: int, inbox: local.Inbox) -> None:
            self.inbox, self.at = inbox, -1

        def send(self, order: object) -> None:
            for message in script:
                self.inbox.put((self, message))  # type: ignore[arg-type]

        def end(self) -> None:
            return None

        def cause(self) -> str:
            return "signal 9"

    return Scripted


def test_the_driver_hears_how_far_its_workers_are_until_they_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    script: list[dict[str, Any] | None] = [{"at": ["training", 2, 9]}, {"say": "saved"}, {"result": 1}]
    monkeypatch.setattr(local, "Worker", scripted(script))
    with shown_on(heard := Heard()):
        answers = list(in_processes({4: Task("run 7", {})}, 1, 1, min))
    assert answers == [Answer(4, {"result": 1}, 1)]
    assert heard.said == ["run 7: saved"]
    assert heard.reported == [("run 7", At("training", 2, 9)), ("run 7", None)]


def test_a_worker_that_died_is_no_longer_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "Worker", scripted([{"at": ["training", 2, 9]}, None]))
    with shown_on(heard := Heard()):
        answers = list(in_processes({0: Task("run 7", {})}, 1, 1, min))
    assert [answer.content for answer in answers] == [None]
    assert heard.reported == [("run 7", At("training", 2, 9)), ("run 7", None)] * 2
