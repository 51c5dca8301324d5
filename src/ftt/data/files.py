"""Regular files only: pipes, devices and sockets are refused before they are opened, and odd names in plain words.

A named pipe would wait for a writer without end, a device could be read without end.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from io import BufferedReader
from pathlib import Path

from ftt import plain_text
from ftt.errors import FttError

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}
_REASONS = {
    errno.ENOENT: "the file is missing",
    errno.ENOTDIR: "the file is missing",
    errno.ELOOP: "the symbolic link leads back to itself",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EACCES: "permission denied",
}


class UnusableFileError(OSError):
    """A path that does not lead to a regular file; its text is the reason."""


def open_regular(path: Path | str) -> BufferedReader:
    """The file opened for reading; UnusableFileError unless it is a regular file."""
    try:
        _refuse_irregular(Path(path).stat().st_mode)
        # Should it become a pipe between the two calls, opening does not wait for a writer.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
        try:
            _refuse_irregular(os.fstat(handle).st_mode)
            return os.fdopen(handle, "rb")
        except BaseException:
            os.close(handle)
            raise
    except (OSError, ValueError) as error:
        raise UnusableFileError(reason_of(error)) from None


def read_regular(path: Path | str, largest: int | None = None) -> bytes:
    """The content of a regular file of at most `largest` bytes."""
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if largest is not None and size > largest:
            raise UnusableFileError(f"the file has {size:,} bytes, the limit is {largest:,}")
        return stream.read()


def require_regular(path: Path, allowed: str) -> None:
    """Refuse what is not a regular file, without opening it."""
    try:
        _refuse_irregular(path.stat().st_mode)
    except (OSError, ValueError) as error:
        raise FttError(
            f"{printable(path.name)} is not a file that can be read",
            given=f"{printable(path)} ({reason_of(error)})",
            allowed=allowed,
        ) from None


def exists(path: Path | str) -> bool:
    """Whether there is something at this path; False for names that no file can have."""
    try:
        Path(path).stat()
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        # Something odd is there, or could never be; the caller's own reading says what.
        return isinstance(error, OSError) and error.errno in (errno.EACCES, errno.ELOOP)
    return True


def is_folder(path: Path | str) -> bool:
    """Whether there is a folder at this path; False for names that no folder can have."""
    try:
        return stat.S_ISDIR(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False


def is_file(path: Path | str) -> bool:
    """Whether there is a regular file at this path; False for names that no file can have."""
    try:
        return stat.S_ISREG(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False


def sha256_of(path: Path) -> str:
    """SHA-256 (hex) of a file, read in pieces."""
    with open_regular(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def reason_of(error: OSError | ValueError) -> str:
    """Why a path cannot be read, in a few words."""
    if isinstance(error, UnusableFileError):
        return str(error)
    if isinstance(error, UnicodeError):
        return "the name is not valid text"
    if isinstance(error, OSError):
        return _REASONS.get(error.errno or 0) or error.strerror or str(error)
    return "the name holds a NUL character" if "null" in str(error) else str(error)


def printable(text: object) -> str:
    """A name that any terminal can show: control characters and bytes that are not UTF-8 as escapes."""
    shown = plain_text.printable(str(text), lines=False)
    return shown if len(shown) <= 300 else f"{shown[:150]}…{shown[-100:]}"


def _refuse_irregular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise UnusableFileError(f"{_KINDS.get(stat.S_IFMT(mode), 'something else')}, not a regular file")
