"""Content-addressed artifacts: one safetensors file per (stage, key), written atomically, verified when read.

A table of more than `BLOCK` rows is a folder of such files, its shards. Each is made once, by whichever process comes
to it first; processes that need the same table share the work, and what is there after a death is not made again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ftt import checked
from ftt.caching import Artifact, MakeRows
from ftt.network import locked
from ftt.params import Json, canonical
from ftt.progress import detail, say, track
from ftt.rows import BLOCK, InMemory, RowFile, Rows, Shards

SHARD = 1024
"""Rows of a shard: seconds of work where a row is an image, so that workers end together; five megabytes where it has
1,280 features."""

PHI = "phi"
"""The name of the array in the file of a table."""


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

    def files(self, stage: str, key: str) -> list[Path]:
        """The files of an artifact that are there: one, or its shards."""
        path = self.path(stage, key)
        return [path] if path.is_file() else sorted(path.with_suffix("").glob("*.safetensors"))

    def has(self, stage: str, key: str) -> bool:
        """Whether the artifact, or at least a part of a large table, is there."""
        return bool(self.files(stage, key))

    def keep(self, stage: str, key: str, make: Callable[[], Artifact]) -> Artifact:
        """What is kept under (stage, key); made and kept first if it is not there."""
        path = self.path(stage, key)
        if (found := read(path)) is not None:
            detail(f"{stage} {key[:12]}: from the store")
            return found
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_suffix(".lock"), f"it makes the {stage} {key[:12]}"):
            # Whoever held the lock before may have made it.
            if (found := read(path)) is not None:
                return found
            start = time.perf_counter()
            made = make()
            write(path, made)
            self.count(stage, key, start)
            return made

    def keep_rows(self, stage: str, key: str, n: int, make: MakeRows) -> Rows:
        """A table of n rows; a large one in shards, of which those that are missing are made."""
        if n <= BLOCK:
            return InMemory(self.keep(stage, key, lambda: Artifact({PHI: make(0, n)})).arrays[PHI])
        return ShardedTable(self, stage, key, n, make).rows()

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

    def count(self, stage: str, key: str, start: float) -> None:
        """Note that something was made, in the time since `start`."""
        seconds = time.perf_counter() - start
        self.made[stage] = self.made.get(stage, 0) + 1
        self._log({"stage": stage, "key": key, "pid": os.getpid(), "seconds": seconds})
        detail(f"{stage} {key[:12]}: computed in {seconds:.1f} s")

    def _log(self, record: dict[str, Json]) -> None:
        # One write to a file opened for appending: lines of several processes do not mix.
        handle = os.open(self.root / "made.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, (canonical(record) + "\n").encode())
        finally:
            os.close(handle)


@dataclass(frozen=True)
class ShardedTable:
    """A table in shards: which files it consists of, and how the rows of each are made."""

    store: ArtifactStore
    stage: str
    key: str
    n: int
    make: MakeRows

    def __len__(self) -> int:
        """The number of shards."""
        return -(-self.n // SHARD)

    def path(self, number: int) -> Path:
        """The file of a shard, whether it is there or not."""
        first, last = number * SHARD, min((number + 1) * SHARD, self.n) - 1
        # Named after its rows: shards of another size are other files.
        return self.store.path(self.stage, self.key).with_suffix("") / f"{first:09d}-{last:09d}.safetensors"

    def missing(self) -> list[int]:
        """The shards that are still to be made."""
        if self._whole() is not None:
            return []
        return [number for number in range(len(self)) if verified(self.path(number)) is None]

    def rows(self) -> Rows:
        """The whole table. Shards that other processes are making are left to them, and waited for at the end."""
        missing = self.missing()
        for number in track(missing, f"shards of {self.stage}", total=len(self), done=len(self) - len(missing)):
            with suppress(Timeout):
                self.keep(number, wait=False)
        if (whole := self._whole()) is not None:
            return Shards([whole])
        return Shards([self.keep(number) for number in range(len(self))])

    def keep(self, number: int, *, wait: bool = True) -> RowFile:
        """One shard, made if it is missing; `Timeout` where another process is making it and is not waited for."""
        path = self.path(number)
        if (found := verified(path)) is not None:
            return found
        path.parent.mkdir(parents=True, exist_ok=True)
        lock, what = path.with_suffix(".lock"), f"it makes shard {number} of the {self.stage} {self.key[:12]}"
        with locked(lock, what) if wait else FileLock(lock, 0):
            # Whoever held the lock before may have made it.
            if (found := verified(path)) is not None:
                return found
            start = time.perf_counter()
            write(path, Artifact({PHI: self.make(number * SHARD, min((number + 1) * SHARD, self.n))}))
            self.store.count(self.stage, f"{self.key}/{number}", start)
        return checked.load_rows(path, PHI)

    def _whole(self) -> RowFile | None:
        """The table as one file, as it was kept before there were shards."""
        return verified(self.store.path(self.stage, self.key))


class ReadOnly:
    """Reads what is there and keeps nothing, without locks: for the helpers of a training over several processes."""

    def __init__(self, store: ArtifactStore) -> None:
        self.store = store

    def keep(self, stage: str, key: str, make: Callable[[], Artifact]) -> Artifact:
        found = read(self.store.path(stage, key))
        return make() if found is None else found

    def keep_rows(self, stage: str, key: str, n: int, make: MakeRows) -> Rows:
        """A small table as in `keep`; of a large one a helper makes its share, which all of them need."""
        if n > BLOCK:
            return self.store.keep_rows(stage, key, n, make)
        return InMemory(self.keep(stage, key, lambda: Artifact({PHI: make(0, n)})).arrays[PHI])


_VERIFIED: dict[Path, tuple[int, int, RowFile]] = {}


def verified(path: Path) -> RowFile | None:
    """The table in a file; None where there is none or it is damaged, which is reported. Verified once per process."""
    try:
        now = path.stat()
    except OSError:
        return None
    known = _VERIFIED.get(path)
    if known is None or known[:2] != (now.st_size, now.st_mtime_ns):
        try:
            known = now.st_size, now.st_mtime_ns, checked.load_rows(path, PHI)
        except checked.DamagedError as error:
            say(f"artifact: {path.name} is damaged ({error}) and is made again")
            return None
        _VERIFIED[path] = known
    return known[2]


def write(path: Path, artifact: Artifact) -> None:
    """Write an artifact with its notes and its checksum."""
    checked.write(path, artifact.arrays, artifact.notes)


def read(path: Path) -> Artifact | None:
    """The artifact, or None where there is none or it is damaged, which is reported."""
    found = checked.read(path, "artifact")
    return None if found is None else Artifact(*found)
