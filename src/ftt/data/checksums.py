"""Checksums of many files, each read once.

The SHA-256 of a file is remembered under ``<cache>/checksums`` with size, times and inode, so that looking at an
untouched folder again costs one `stat` per file. The change time (ctime) is among them: a program can restore the
modification time of a file, but not this one. A memory that is damaged is forgotten, and the files are read again.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ftt.atomic import replacing
from ftt.checked import DamagedError
from ftt.data.files import sha256_of
from ftt.data.images import in_threads
from ftt.data.roots import Roots
from ftt.params import Json
from ftt.progress import say, track

SETTLED_NS = 2_000_000_000
"""A file that changed less than this ago is not remembered: a second change could leave the same coarse time."""

Stamp = tuple[int, int, int, int]
"""Size, modification time, change time and inode of a file."""


class Checksums:
    """Checksums of files below folders, remembered in one file per folder."""

    def __init__(self, roots: Roots) -> None:
        self.folder = roots.cache / "checksums"

    def of(self, root: Path, names: Iterable[str]) -> list[str | None]:
        """SHA-256 (hex) of every file ``root/name``; None where there is no regular file."""
        base, listed = os.path.realpath(root), list(names)
        memory = self.folder / f"{hashlib.sha256(os.fsencode(base)).hexdigest()[:32]}.jsonl"
        known = _recall(memory)
        found: list[str | None] = []
        unknown: list[tuple[int, Stamp]] = []
        for row, name in enumerate(listed):
            stamp = _stamp(f"{base}/{name}")
            record = known.get(name) if stamp else None
            if stamp and (record is None or tuple(record[:4]) != stamp):
                unknown.append((row, stamp))
            found.append(str(record[4]) if record else None)
        if not unknown:
            return found
        paths = [f"{base}/{listed[row]}" for row, _ in unknown]
        hashed = track(in_threads(lambda n: _sha256(paths[n]), range(len(paths))), "checksums", total=len(paths))
        now, before = time.time_ns(), known.copy()
        for (row, stamp), sha in zip(unknown, hashed, strict=True):
            found[row] = sha
            known.pop(listed[row], None)
            # The time before reading counts: a change in between has a later one.
            if sha is not None and now - stamp[2] > SETTLED_NS:
                known[listed[row]] = [*stamp, sha]
        if known != before:
            _remember(memory, known)
        return found

    def manifest(self, root: Path, names: Sequence[str], called: Sequence[str] | None = None) -> Json:
        """One checksum over names and contents, and the number of files; a missing file counts as missing.

        Parameters
        ----------
        root : Path
            The folder; it is not part of the checksum.
        names : sequence of str
            Paths below it.
        called : sequence of str, optional
            What the files are called in the checksum; `names` by default.
        """
        sha = hashlib.sha256()
        for name, content in zip(called or names, self.of(root, names), strict=True):
            sha.update(os.fsencode(name) + b"\0" + (content or "missing").encode() + b"\n")
        return {"files": len(names), "sha256": sha.hexdigest()}

    def folder_files(self, root: Path) -> dict[str, str | None]:
        """SHA-256 of every file below a folder by its relative name, hidden ones apart."""
        names = sorted(
            os.path.relpath(f"{folder}/{file}", root)
            for folder, _, files in os.walk(root)
            for file in files
            if not file.startswith(".")
        )
        return dict(zip(names, self.of(root, names), strict=True))


def _stamp(path: str) -> Stamp | None:
    try:
        # A Path object costs as much as the call itself.
        found = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _sha256(path: str) -> str | None:
    try:
        return sha256_of(Path(path))
    except OSError:
        return None


def _recall(memory: Path) -> dict[str, list[Json]]:
    """What is remembered; nothing where the file is missing or damaged."""
    if not memory.is_file():
        return {}
    try:
        return intact(memory)
    except DamagedError as error:
        say(f"checksums: {memory.name} is damaged ({error}) and is made again")
        return {}


def intact(memory: Path) -> dict[str, list[Json]]:
    """What a memory holds; `DamagedError` if it is not as it was written."""
    try:
        checksum, _, body = memory.read_bytes().partition(b"\n")
        if hashlib.sha256(body).hexdigest() == json.loads(checksum):
            return dict(json.loads(body))
    except (OSError, ValueError) as error:
        raise DamagedError(str(error)) from None
    raise DamagedError("its checksum is wrong")


def _remember(memory: Path, known: dict[str, list[Json]]) -> None:
    body = json.dumps(known, separators=(",", ":")).encode()
    # A cache that cannot be written to costs time, nothing else.
    with suppress(OSError), replacing(memory) as scratch:
        scratch.write_bytes(json.dumps(hashlib.sha256(body).hexdigest()).encode() + b"\n" + body)
