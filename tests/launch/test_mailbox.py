"""Messages of tasks: all of them arrive in order, and progress only now and then."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ftt.launch.mailbox import Mailbox, Posting


def at_hand(mailbox: Mailbox) -> Any:
    """The mailbox as a task sees it, without a cluster."""
    return SimpleNamespace(put=SimpleNamespace(remote=mailbox.put))


def test_messages_are_taken_once_and_in_order() -> None:
    mailbox = Mailbox()
    posting = Posting(at_hand(mailbox), "run 7", every=0.0)
    posting.say("first")
    posting.say("second")
    assert mailbox.take() == ["run 7: first", "run 7: second"]
    assert mailbox.take() == []


def test_progress_counts_what_was_done_before() -> None:
    mailbox = Mailbox()
    assert list(Posting(at_hand(mailbox), "run 7", every=0.0).track("ab", "training", 5, 3)) == ["a", "b"]
    assert mailbox.take() == ["run 7: training: 4 of 5", "run 7: training: 5 of 5"]


def test_loops_that_end_soon_are_not_reported() -> None:
    mailbox = Mailbox()
    assert list(Posting(at_hand(mailbox), "run 7", every=3600.0).track(range(100), "training", 100, 0))
    assert mailbox.take() == []
