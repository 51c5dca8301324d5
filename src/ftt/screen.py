"""What a person sees while waiting: bars on a terminal or in a notebook, plain lines elsewhere.

The command line shows progress always, Python calls where somebody watches: in a notebook and at a Python prompt. In
scripts ``FTT_PROGRESS=1`` shows it, and ``FTT_PROGRESS=0`` hides it everywhere.
"""

from __future__ import annotations

import functools
import html
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from ftt.plain_text import printable
from ftt.progress import At, is_shown, shown_on

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")

VARIABLE = "FTT_PROGRESS"

MOST_BARS = 8
"""Runs in other processes that have bars of their own; a cluster has more than a terminal has lines."""


class Bars:
    """Rich bars, one per loop, each with the time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.console = Console(stderr=True)
        self.progress = Progress(
            TextColumn("{task.description:<34}", markup=False),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=self.console,
        )
        self.elsewhere: dict[str, tuple[str, Any]] = {}

    def track(self, items: Iterable[T], label: str, total: int, done: int) -> Iterator[T]:
        task = self.progress.add_task(printable(label, lines=False), total=total or None, completed=done)
        try:
            for item in items:
                yield item
                self.progress.advance(task)
        finally:
            self.progress.stop_task(task)

    def say(self, message: str) -> None:
        # Messages quote errors and paths; square brackets in them are not markup.
        self.console.print(printable(message), style="dim", markup=False, highlight=False)

    def report(self, who: str, at: At | None) -> None:
        label, bar = self.elsewhere.get(who, ("", None))
        if bar is not None and (at is None or at.label != label):
            # A loop that follows has another pace, so it gets a bar of its own.
            self.progress.remove_task(self.elsewhere.pop(who)[1])
            bar = None
        if at is None:
            return
        if bar is not None:
            self.progress.update(bar, completed=at.number)
        elif len(self.elsewhere) < MOST_BARS:
            words = printable(f"{who}: {at.label}", lines=False)
            bar = self.progress.add_task(words, total=at.total or None, completed=at.number)
            self.elsewhere[who] = at.label, bar


@dataclass
class Elsewhere:
    """A loop in another process: what was heard of it first, when, and when it was last shown."""

    first: At
    start: float
    last: float


class Lines:
    """A line now and then, for logs and pipes."""

    def __init__(self, every: float = 10.0, elsewhere: float = 30.0) -> None:
        self.every = every
        self.every_elsewhere = elsewhere
        self.elsewhere: dict[str, Elsewhere] = {}

    def track(self, items: Iterable[T], label: str, total: int, done: int) -> Iterator[T]:
        start = last = time.monotonic()
        count = done
        for item in items:
            yield item
            count += 1
            now = time.monotonic()
            if now - last > self.every and count > done:
                self.say(f"{label}: {count}/{total or '?'}, about {_left(start, done, count, total):.0f} s left")
                last = now

    def say(self, message: str) -> None:
        sys.stderr.write(printable(message) + "\n")
        sys.stderr.flush()

    def report(self, who: str, at: At | None) -> None:
        if at is None:
            self.elsewhere.pop(who, None)
            return
        known, now = self.elsewhere.get(who), time.monotonic()
        if known is None or known.first.label != at.label:
            self.elsewhere[who] = Elsewhere(at, now, now)
        elif now - known.last >= self.every_elsewhere:
            left = _left(known.start, known.first.number, at.number, at.total)
            self.say(f"{who}: {at.label}: {at.number}/{at.total or '?'}, about {left:.0f} s left")
            known.last = now


class NotebookBars:
    """A bar per loop below the cell, without widgets: one output that is replaced a few times per second."""

    def __init__(self, every: float = 0.3) -> None:
        self.every = every
        self.elsewhere: dict[str, Any] = {}

    def track(self, items: Iterable[T], label: str, total: int, done: int) -> Iterator[T]:
        handle = _display_html(_bar(label, done, total, None))
        start = last = time.monotonic()
        count = done
        try:
            for item in items:
                yield item
                count += 1
                now = time.monotonic()
                if now - last > self.every:
                    handle.update(_html(_bar(label, count, total, _left(start, done, count, total))))
                    last = now
        finally:
            handle.update(_html(_bar(label, count, total, 0.0)))

    def say(self, message: str) -> None:
        _display_html(f"<small>{html.escape(printable(message))}</small>")

    def report(self, who: str, at: At | None) -> None:
        if at is None:
            if who in self.elsewhere:
                self.elsewhere.pop(who).update(_html(""))
            return
        bar = _bar(f"{who}: {at.label}", at.number, at.total, None)
        if who in self.elsewhere:
            self.elsewhere[who].update(_html(bar))
        elif len(self.elsewhere) < MOST_BARS:
            self.elsewhere[who] = _display_html(bar)


@contextmanager
def display(*, detailed: bool = False) -> Iterator[None]:
    """Show progress inside the block, in the way that fits where we are."""
    if _in_notebook():
        with shown_on(NotebookBars(), detailed=detailed):
            yield
    elif not sys.stderr.isatty():
        with shown_on(Lines(), detailed=detailed):
            yield
    else:
        bars = Bars()
        with bars.progress, shown_on(bars, detailed=detailed):
            yield


def shows_progress(function: Callable[P, R]) -> Callable[P, R]:
    """A function of the Python interface that shows progress where somebody watches."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        if is_shown() or not _watched():
            return function(*args, **kwargs)
        with display():
            return function(*args, **kwargs)

    return called


def _watched() -> bool:
    """Whether somebody sees what is written now: asked for, in a notebook, or at a prompt."""
    if asked := os.environ.get(VARIABLE, ""):
        return asked.lower() not in ("0", "false", "no")
    return _in_notebook() or (hasattr(sys, "ps1") and sys.stderr is not None and sys.stderr.isatty())


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    # The shell of a terminal has no kernel.
    return getattr(shell, "kernel", None) is not None


def _bar(label: str, count: int, total: int, left: float | None) -> str:
    text = html.escape(printable(label, lines=False))
    value = f'value="{count}" max="{total}"' if total else ""
    time_left = "" if left is None else f", about {left:.0f} s left" if count < total else ""
    return f"<div><progress {value}></progress> {text} {count}/{total or '?'}{time_left}</div>"


def _left(start: float, done: int, count: int, total: int) -> float:
    return (time.monotonic() - start) / max(count - done, 1) * max(total - count, 0)


def _html(text: str) -> Any:
    from IPython.display import HTML

    return HTML(text)


def _display_html(text: str) -> Any:
    from IPython.display import display as show

    return show(_html(text), display_id=True)
