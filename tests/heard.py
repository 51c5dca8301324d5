"""A display that remembers what was said."""

from __future__ import annotations

from ftt.progress import Silent


class Heard(Silent):
    """``with shown_on(heard := Heard()): …``, then look at `said`."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, message: str) -> None:
        self.said.append(message)
