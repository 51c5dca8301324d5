"""Which artifacts a run uses, so that what no run needs any more can be removed.

Every use is written down before the artifact is read or made, one line each, also by runs that are stopped later.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from ftt.caching import Artifact, Cache, MakeRows
from ftt.params import canonical
from ftt.rows import Rows

NAME = "artifacts.jsonl"

Used = tuple[str, str]
"""Stage and key."""


class Recording:
    """A cache that writes down in the folder of a run what the run asks for."""

    def __init__(self, cache: Cache, folder: Path) -> None:
        self.cache = cache
        self.path = folder / NAME
        self._seen = set(used_by(folder) or ())

    def keep(self, stage: str, key: str, make: Callable[[], Artifact]) -> Artifact:
        self._write_down(stage, key)
        return self.cache.keep(stage, key, make)

    def keep_rows(self, stage: str, key: str, n: int, make: MakeRows) -> Rows:
        self._write_down(stage, key)
        return self.cache.keep_rows(stage, key, n, make)

    def _write_down(self, stage: str, key: str) -> None:
        if (stage, key) not in self._seen:
            self._seen.add((stage, key))
            # One write to a file opened for appending: a killed run leaves whole lines.
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(handle, (canonical({"stage": stage, "key": key}) + "\n").encode())
            finally:
                os.close(handle)


def used_by(folder: Path) -> list[Used] | None:
    """What the run in this folder used; None where that was not written down, or cannot be read."""
    path = folder / NAME
    try:
        records = [json.loads(line) for line in path.read_text().splitlines()]
        return [(str(record["stage"]), str(record["key"])) for record in records]
    except (OSError, ValueError, KeyError, TypeError):
        return None
