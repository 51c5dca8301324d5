"""Progress of commands on standard error, as much of it as the user wants to see."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ftt.cli.loudness import Level, level
from ftt.screen import display


@contextmanager
def watched() -> Iterator[None]:
    """Show progress inside the block."""
    if level() is Level.QUIET:
        yield
        return
    with display(detailed=level() is Level.VERBOSE):
        yield
