"""A line per finished run, so that thousands of results can be listed without reading each of them again.

``runs/index.jsonl`` only repeats what the results say. A line holds for a result with the size and time of writing
that it names; one that is missing, damaged or out of date costs a reading of the result. Lines are appended, each in
one write, so that several processes can add theirs; the last line of a run counts.
"""

from __future__ import annotations

import gc
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ftt.atomic import replacing
from ftt.params import Json, canonical

NAME = "index.jsonl"

KEPT = (
    *("run_id", "key", "format", "version", "recipe", "spec", "seconds", "explained_variance"),
    *("worst_group", "worst_group_accuracy", "average_accuracy", "headline_group", "headline_accuracy"),
)
PROBE = ("C", "converged", "warnings")


def summary(result: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a written result that tables of runs show."""
    probe = {"probe": {name: result["probe"][name] for name in PROBE}} if "probe" in result else {}
    return {name: result[name] for name in KEPT if name in result} | probe


@dataclass(frozen=True)
class Line:
    """What the index says about one folder: the result it was read from, and its summary."""

    folder: str
    stamp: list[int]
    content: dict[str, Any]

    def written(self) -> bytes:
        text = canonical([self.folder, self.stamp, self.content]).encode()
        return b"%08x %s\n" % (zlib.crc32(text), text)

    @classmethod
    def read(cls, line: bytes) -> Line | None:
        """The line, or None where it is damaged."""
        code, _, text = line.partition(b" ")
        try:
            return cls(*json.loads(text)) if int(code, 16) == zlib.crc32(text) else None
        except (ValueError, TypeError):
            return None


def stamp_of(path: Path) -> list[int] | None:
    """Size and time of writing of a file, in nanoseconds; None where there is no such file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


@contextmanager
def without_collection() -> Iterator[None]:
    """Make many small objects without Python looking for garbage among them again and again: a third of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Index:
    """The lines of one folder of runs."""

    def __init__(self, root: Path) -> None:
        self.path = root / NAME

    def lines(self) -> dict[str, Line]:
        """The last sound line of every folder."""
        try:
            written = self.path.read_bytes().splitlines()
        except OSError:
            return {}
        found = {line.folder: line for line in map(Line.read, written) if line is not None}
        if len(written) > 2 * len(found) + 100:
            self._rewrite(found)
        return found

    def add(self, folder: str, stamp: list[int], content: Mapping[str, Json]) -> Line:
        """Append a line; where nothing may be written the index stays as it is."""
        line = Line(folder, stamp, dict(content))
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError:
            return line
        try:
            os.write(handle, line.written())
        finally:
            os.close(handle)
        return line

    def _rewrite(self, lines: Mapping[str, Line]) -> None:
        # What another process appends meanwhile is lost, and read again from its result.
        try:
            with replacing(self.path) as scratch:
                scratch.write_bytes(b"".join(line.written() for line in lines.values()))
        except OSError:
            return
