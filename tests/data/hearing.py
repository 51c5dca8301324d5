"""A display that remembers what was said."""

from __future__ import annotations

from ftt.progress import Silent, shown_on

__all__ = ["Heard", "shown_on"]


class Heard(Silent):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, message: str) -> None:
        self.lines.append(message)
