"""What runs in other processes have to say: their messages, and how far they are, on the way to the driver as JSON."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from ftt.progress import At, report, say

T = TypeVar("T")

EVERY = 1.0
"""Seconds between two messages about one loop."""


class Messages(ABC):
    """A display in another process than the driver's; subclasses know how a message gets there."""

    every = EVERY

    @abstractmethod
    def send(self, message: dict[str, Any]) -> None: ...

    def track(self, items: Iterable[T], label: str, total: int, done: int) -> Iterator[T]:
        told = time.monotonic()
        for number, item in enumerate(items, start=done + 1):
            yield item
            if time.monotonic() - told >= self.every:
                told = time.monotonic()
                self.send({"at": [label, number, total]})

    def say(self, message: str) -> None:
        self.send({"say": message})

    def report(self, who: str, at: At | None) -> None:
        return None  # The driver's own workers have none.


def pass_on(who: str, message: dict[str, Any]) -> None:
    """Show what `who` has sent."""
    if "at" in message:
        report(who, None if message["at"] is None else At(*message["at"]))
    else:
        say(f"{who}: {message['say']}")
