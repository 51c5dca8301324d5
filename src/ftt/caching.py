"""Compute once: the seam between rooms that make things and the store that keeps them.

A stage asks a `Cache` for what belongs to a key and says how to make it. `ftt.store` keeps it on disk; `NoCache` makes
it anew. The rooms need not know which one they were given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy.typing as npt


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


class NoCache:
    """Keeps nothing."""

    def keep(self, stage: str, key: str, make: Callable[[], Artifact]) -> Artifact:
        return make()
