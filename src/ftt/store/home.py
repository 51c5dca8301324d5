"""The folder where everything a user's runs leave behind is kept."""

from __future__ import annotations

import os
from pathlib import Path

from ftt.store.artifacts import ArtifactStore
from ftt.store.runs import RunStore


class Home:
    """Artifacts, runs and checkpoints below one root (``FTT_HOME``, default ``./ftt-home``)."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.artifacts = ArtifactStore(root / "artifacts")
        self.runs = RunStore(root / "runs")

    @classmethod
    def from_environment(cls, root: Path | None = None) -> Home:
        """The argument first, then the environment, then the default."""
        return cls((root or Path(os.environ.get("FTT_HOME") or "ftt-home")).expanduser())

    def checkpoint_folder(self, key: str) -> Path:
        """Where the training of this key leaves its checkpoints."""
        return self.root / "checkpoints" / key[:16]
