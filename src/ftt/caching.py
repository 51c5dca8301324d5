"""Compute once: the seam between rooms that make things and the store that keeps them.

A stage asks a `Cache` for what belongs to a key and says how to make it. `ftt.store` keeps it on disk; `NoCache` makes
it anew. The rooms need not know which one they were given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy.typing as npt

from ftt.arrays import Float32Array
from ftt.rows import InMemory, Rows

MakeRows = Callable[[int, int], Float32Array]
"""From a first and a last row (not included) to the rows between them."""


@dataclass(frozen=True)
class Artifact:
    """Named arrays, and notes about them in plain JSON."""

    arrays: dict[str, npt.NDArray[Any]]
    notes: dict[str, Any] = field(default_factory=dict)


class Cache(Protocol):
    """Where artifacts are kept."""

    def keep(self, stage: str, key: str, make: Callable[[], Artifact]) -> Artifact:
        """What is kept under (stage, key); made and kept first if it is not there."""
        ...

    def keep_rows(self, stage: str, key: str, n: int, make: MakeRows) -> Rows:
        """A table of n rows that is kept under (stage, key); what is missing of it is made and kept first."""
        ...


class NoCache:
    """Keeps nothing."""

    def keep(self, stage: str, key: str, make: Callable[[], Artifact]) -> Artifact:
        return make()

    def keep_rows(self, stage: str, key: str, n: int, make: MakeRows) -> Rows:
        return InMemory(make(0, n))
