"""The folders of a user: where runs leave what they make, and where data is read from."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ftt.atomic import sweep
from ftt.data.roots import Roots, expanded
from ftt.store.artifacts import ArtifactStore
from ftt.store.runs import RunStore

_TIDIED: set[Path] = set()


@dataclass(frozen=True)
class Home:
    """Artifacts, runs and checkpoints below one root, and the roots of data beside it.

    Attributes
    ----------
    root : Path
        ``FTT_HOME``, by default ``./ftt-home``.
    roots : Roots
        Where data may be: ``FTT_CACHE`` and ``FTT_DATA``.
    """

    root: Path
    roots: Roots = field(default_factory=Roots.from_environment)

    @classmethod
    def from_environment(
        cls, root: Path | str | None = None, cache: Path | None = None, data: Path | None = None
    ) -> Home:
        """The arguments first, then the environment, then the defaults."""
        chosen = Path(root or os.environ.get("FTT_HOME") or "ftt-home")
        return cls(expanded(chosen), Roots.from_environment(cache, data))

    @cached_property
    def artifacts(self) -> ArtifactStore:
        self._tidy()
        return ArtifactStore(self.root / "artifacts")

    @cached_property
    def runs(self) -> RunStore:
        self._tidy()
        return RunStore(self.root / "runs")

    def _tidy(self) -> None:
        """Remove what killed processes left unfinished: once per process."""
        for place in {self.root.absolute(), self.roots.cache.absolute()} - _TIDIED:
            _TIDIED.add(place)
            sweep(place)

    def checkpoint_folder(self, key: str) -> Path:
        """Where the training of this key leaves its checkpoints."""
        return self.root / "checkpoints" / key[:16]
