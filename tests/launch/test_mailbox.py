"""Messages of tasks on a cluster: all of them arrive in order, the last one says that nothing more comes."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from ftt.launch.mailbox import Mailbox, Posting


def at_hand(mailbox: Mailbox) -> Any:
    """The mailbox as a task sees it, without a cluster."""
    return SimpleNamespace(put=SimpleNamespace(remote=mailbox.put))


def test_messages_are_taken_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(wait=lambda *_, **__: None))
    mailbox = Mailbox()
    posting = Posting(at_hand(mailbox), "run 7", every=0.0)
    posting.say("first")
    assert list(posting.track("b", "training", 5, 3)) == ["b"]
    posting.close()
    messages = [{"say": "first"}, {"at": ["training", 4, 5]}, {"at": None}]
    assert mailbox.take() == [("run 7", message) for message in messages]
    assert mailbox.take() == []
