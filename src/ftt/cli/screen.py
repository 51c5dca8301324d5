"""What a person sees while waiting: bars with an estimate on a terminal, plain lines elsewhere; always on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ftt.plain_text import printable
from ftt.progress import Display, shown_on

T = TypeVar("T")


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


class Lines:
    """A line now and then, for logs and pipes."""

    def __init__(self, every: float = 10.0) -> None:
        self.every = every

    def track(self, items: Iterable[T], label: str, total: int, done: int) -> Iterator[T]:
        start = last = time.monotonic()
        count = done
        for item in items:
            yield item
            count += 1
            now = time.monotonic()
            if now - last > self.every and count > done:
                left = (now - start) / (count - done) * max(total - count, 0)
                self.say(f"{label}: {count}/{total or '?'}, about {left:.0f} s left")
                last = now

    def say(self, message: str) -> None:
        sys.stderr.write(printable(message) + "\n")
        sys.stderr.flush()


@contextmanager
def watched(quiet: bool = False) -> Iterator[None]:
    """Show progress on standard error inside the block."""
    if quiet:
        yield
        return
    if not sys.stderr.isatty():
        with shown_on(Lines()):
            yield
        return
    bars = Bars()
    display: Display = bars
    with bars.progress, shown_on(display):
        yield
