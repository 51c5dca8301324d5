"""Progress that any room may report and only a front door may draw.

Long loops call `track`; what it shows is decided by whoever called the library. By default nothing is shown, so
that importing code stays silent. The command line installs bars (`ftt.cli.screen`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")


class Display(Protocol):
    """Where progress goes."""

    def track(self, items: Iterable[T], label: str, total: int, done: int) -> Iterator[T]: ...

    def say(self, message: str) -> None: ...


class Silent:
    """Shows nothing."""

    def track(self, items: Iterable[T], label: str, total: int, done: int) -> Iterator[T]:
        yield from items

    def say(self, message: str) -> None:
        return None


_display: ContextVar[Display] = ContextVar("ftt_display")


def current() -> Display:
    """The display in use."""
    return _display.get(Silent())


def track(items: Iterable[T], label: str, total: int, *, done: int = 0) -> Iterator[T]:
    """Iterate with progress; `done` of `total` were finished before (a resumed loop)."""
    return current().track(items, label, total, done)


def say(message: str) -> None:
    """A line for the person waiting: a choice made, a source used, a cache hit."""
    current().say(message)


@contextmanager
def shown_on(display: Display) -> Iterator[None]:
    """Send progress to `display` inside the block."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)
