"""A display that remembers what was said."""

from __future__ import annotations

from ftt.progress import At, Silent


class Heard(Silent):
    """``with shown_on(heard := Heard()): …``, then look at `said`, and at `reported` for what happened elsewhere."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.reported: list[tuple[str, At | None]] = []

    def say(self, message: str) -> None:
        self.said.append(message)

    def report(self, who: str, at: At | None) -> None:
        self.reported.append((who, at))
