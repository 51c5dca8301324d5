"""Files and folders that appear whole or not at all, and the removal of what killed processes left unfinished."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import secrets
import shutil
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

ABANDONED = 3600.0
"""Seconds without a write after which the scratch file of another machine counts as left behind."""

# Name, machine, process: enough to tell whether whoever writes it is still alive.
_SCRATCH = re.compile(r"\..*-([0-9a-f]{8})-([0-9]+)-[0-9a-f]{8}\.unfinished", re.DOTALL)
_ENDING = ".unfinished"
_EXCHANGE, _HERE = 2, -100


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A scratch path to write to; when the block ends well it is flushed to the disk and becomes `path`.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "a.txt"
    >>> with replacing(target) as scratch:
    ...     _ = scratch.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    scratch = _scratch(path)
    scratch.touch(exist_ok=False)
    try:
        yield scratch
        _flush(scratch)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def scratch_folder(beside: Path) -> Iterator[Path]:
    """A new folder next to `beside` that is gone when the block ends, unless it was moved."""
    beside.parent.mkdir(parents=True, exist_ok=True)
    scratch = _scratch(beside)
    scratch.mkdir()
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """A scratch folder to fill; when the block ends well it takes the place of `folder` and all that was in it.

    On Linux the two change places in one step. Elsewhere a kill between two renames leaves the old folder under its
    scratch name.
    """
    with scratch_folder(folder) as scratch:
        yield scratch
        for path in scratch.iterdir():
            _flush(path)
        if not folder.is_dir():
            scratch.replace(folder)
        elif not _exchange(scratch, folder):
            with scratch_folder(folder) as old:
                folder.replace(old)
                scratch.replace(folder)


def sweep(root: Path, *, deep: bool = True) -> list[Path]:
    """Remove scratch files and folders below `root` whose process is gone; returns what was removed.

    With ``deep=False`` the folders below are not looked into.
    """
    removed = []
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            # The cheap question first: a store has tens of thousands of files.
            if name.endswith(_ENDING) and _left_behind(path := Path(folder, name)):
                with suppress(OSError):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                    removed.append(path)
        folders[:] = [n for n in folders if deep and not (n.endswith(_ENDING) and _SCRATCH.fullmatch(n))]
    return removed


def _scratch(path: Path) -> Path:
    # Shortened: a name may have 255 bytes.
    return path.with_name(f".{path.name[:40]}-{_machine()}-{os.getpid()}-{secrets.token_hex(4)}.unfinished")


@cache
def _machine() -> str:
    """This machine; on Linux also the container, within which process numbers hold."""
    space = ""
    with suppress(OSError):
        space = str(Path("/proc/self/ns/pid").readlink())
    return f"{zlib.crc32(f'{platform.node()} {space}'.encode()):08x}"


def _left_behind(path: Path) -> bool:
    match = _SCRATCH.fullmatch(path.name)
    if match is None:
        return False
    machine, process = match.groups()
    if machine == _machine() and not _alive(int(process)):
        return True
    with suppress(OSError):
        return time.time() - path.stat().st_mtime > ABANDONED
    return False


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _flush(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def _exchange(one: Path, other: Path) -> bool:
    """Let two paths change places in one step, where the system can."""
    if sys.platform != "linux":
        return False
    with suppress(OSError, AttributeError):
        call = ctypes.CDLL(None, use_errno=True).renameat2
        return bool(call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)
    return False
