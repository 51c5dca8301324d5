"""How long several trainings take together, told as soon as one of them has shown its pace.

Nothing is timed beforehand: the first steps of a training tell, with whatever else runs beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from ftt.progress import At, Display
from ftt.runs.side_by_side import side_by_side

T = TypeVar("T")

PATIENCE = 6.0
"""Seconds of steps from which the pace of a training is taken."""


@dataclass
class Forecast:
    """A display that passes everything on to another one, and listens.

    Attributes
    ----------
    shown : Display
        Where progress is shown.
    sizes : mapping of str to float
        What each training takes compared with the others, by the name of its run, in the order in which they begin.
    at_once : int
        Trainings side by side.
    tell : callable
        Called once, with the seconds that all of them take from the start of the first.
    """

    shown: Display
    sizes: Mapping[str, float]
    at_once: int
    tell: Callable[[float], None]
    _begun: dict[tuple[str, str], tuple[At, float]] = field(default_factory=dict)
    _loops: int = 0
    _told: bool = False

    def track(self, items: Iterable[T], label: str, total: int, done: int) -> Iterator[T]:
        # Runs of this process have no name here; trainings begin in order.
        who = next(islice(self.sizes, self._loops, None), "")
        self._loops += label.startswith("training")
        for number, item in enumerate(self.shown.track(items, label, total, done), start=done + 1):
            yield item
            self._listen(who, At(label, number, total))

    def say(self, message: str) -> None:
        self.shown.say(message)

    def report(self, who: str, at: At | None) -> None:
        self.shown.report(who, at)
        if at is not None:
            self._listen(who, at)

    def _listen(self, who: str, at: At) -> None:
        if self._told or who not in self.sizes or not at.label.startswith("training"):
            return
        now = time.monotonic()
        before, since = self._begun.setdefault((who, at.label), (at, now))
        if now - since >= PATIENCE and at.number > before.number:
            self._told = True
            pace = (now - since) / (at.number - before.number)
            unit = at.total * pace / self.sizes[who]
            self.tell(side_by_side((size * unit for size in self.sizes.values()), self.at_once))
