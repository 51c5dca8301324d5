"""Content-addressed artifacts: one safetensors file per (stage, key), written atomically, verified when read."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ftt import checked
from ftt.caching import Artifact
from ftt.network import locked
from ftt.params import Json, canonical
from ftt.progress import say


class ArtifactStore:
    """Artifacts below one folder; safe for many processes: each is made by one and read by all.

    ``made.log`` has a JSON line for every artifact that was made: stage, key, process, seconds.

    Attributes
    ----------
    made : dict of str to int
        How many artifacts of each stage this object had to make (the others were there).
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.made: dict[str, int] = {}

    def path(self, stage: str, key: str) -> Path:
        """The file of an artifact, whether it is there or not."""
        return self.root / stage / key[:2] / f"{key}.safetensors"

    def keep(self, stage: str, key: str, make: Callable[[], Artifact]) -> Artifact:
        """What is kept under (stage, key); made and kept first if it is not there."""
        path = self.path(stage, key)
        if (found := read(path)) is not None:
            return found
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_suffix(".lock"), f"it makes the {stage} {key[:12]}"):
            # Whoever held the lock before may have made it.
            if (found := read(path)) is not None:
                return found
            start = time.perf_counter()
            made = make()
            write(path, made)
            self.made[stage] = self.made.get(stage, 0) + 1
            self._log({"stage": stage, "key": key, "pid": os.getpid(), "seconds": time.perf_counter() - start})
            return made

    def log(self) -> list[dict[str, Any]]:
        """What was made below this folder, by any process, in the order of finishing."""
        path = self.root / "made.log"
        lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
        records = []
        for line in lines:
            try:
                records.append(json.loads(line))
            except ValueError:
                say(f"{path}: a line cannot be read and is skipped")
        return records

    def _log(self, record: dict[str, Json]) -> None:
        # One write to a file opened for appending: lines of several processes do not mix.
        handle = os.open(self.root / "made.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, (canonical(record) + "\n").encode())
        finally:
            os.close(handle)


class ReadOnly:
    """Reads what is there and keeps nothing, without locks: for the helpers of a training over several processes."""

    def __init__(self, store: ArtifactStore) -> None:
        self.store = store

    def keep(self, stage: str, key: str, make: Callable[[], Artifact]) -> Artifact:
        found = read(self.store.path(stage, key))
        return make() if found is None else found


def write(path: Path, artifact: Artifact) -> None:
    """Write an artifact with its notes and its checksum."""
    checked.write(path, artifact.arrays, artifact.notes)


def read(path: Path) -> Artifact | None:
    """The artifact, or None where there is none or it is damaged, which is reported."""
    found = checked.read(path, "artifact")
    return None if found is None else Artifact(*found)
