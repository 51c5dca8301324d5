"""Progress that any room may report and only a front door may draw.

Long loops call `track`; what it shows is decided by whoever called the library. By default nothing is shown, so
that importing code stays silent. Bars are in `ftt.screen`; the command line and Python calls install them. Of loops in
other processes a driver hears now and then how far they are, and passes it on with `report`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class At(NamedTuple):
    """How far a loop is: at item `number` of `total`."""

    label: str
    number: int
    total: int


class Display(Protocol):
    """Where progress goes."""

    def track(self, items: Iterable[T], label: str, total: int, done: int) -> Iterator[T]: ...

    def say(self, message: str) -> None: ...

    def report(self, who: str, at: At | None) -> None: ...


class Silent:
    """Shows nothing."""

    def track(self, items: Iterable[T], label: str, total: int, done: int) -> Iterator[T]:
        yield from items

    def say(self, message: str) -> None:
        return None

    def report(self, who: str, at: At | None) -> None:
        return None


_display: ContextVar[Display] = ContextVar("ftt_display")
_detailed: ContextVar[bool] = ContextVar("ftt_detailed", default=False)


def current() -> Display:
    """The display in use."""
    return _display.get(Silent())


def is_shown() -> bool:
    """Whether somebody has decided where progress goes."""
    return _display.get(None) is not None


def track(items: Iterable[T], label: str, total: int, *, done: int = 0) -> Iterator[T]:
    """Iterate with progress; `done` of `total` were finished before (a resumed loop)."""
    return current().track(items, label, total, done)


def say(message: str) -> None:
    """A line for the person waiting: a choice made, a source used, a cache hit."""
    current().say(message)


def report(who: str, at: At | None) -> None:
    """How far the loop is that `who` runs in another process; None when it has nothing more to do."""
    current().report(who, at)


def detail(message: str) -> None:
    """A line for somebody who wants to know more: what is computed, reused or saved."""
    if _detailed.get():
        current().say(message)


@contextmanager
def shown_on(display: Display, *, detailed: bool | None = None) -> Iterator[None]:
    """Send progress to `display` inside the block; with `detailed` also what `detail` reports, by default as before."""
    tokens = _display.set(display), _detailed.set(_detailed.get() if detailed is None else detailed)
    try:
        yield
    finally:
        _display.reset(tokens[0])
        _detailed.reset(tokens[1])
