"""Arrays from .npy and .npz files whose headers are checked before anything is allocated.

A header may claim terabytes that the file does not hold, an archive may unpack to a thousand times its size. Arrays of
Python objects would need pickle and are never loaded.
"""

from __future__ import annotations

import tokenize
import zipfile
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ftt.data.files import open_regular, printable
from ftt.errors import FttError, unknown
from ftt.rows import RowFile

SMALL = 1_000_000_000
"""Bytes that an archive may always unpack to."""
RATIO = 100
"""How many times its own size a larger archive may unpack to."""

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_npy(path: Path) -> npt.NDArray[Any]:
    """The array of a .npy file."""
    with open_regular(path) as stream:
        _check_header(stream, path.stat().st_size, path.name)
        stream.seek(0)
        found: npt.NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        return found


def map_npy(path: Path) -> RowFile | None:
    """The array of a .npy file, to be read by rows; None where it is not laid out row by row."""
    with open_regular(path) as stream:
        _check_header(stream, path.stat().st_size, path.name)
        offset = stream.tell()
        stream.seek(0)
        shape, by_column, dtype = _HEADERS[np.lib.format.read_magic(stream)](stream)
        return None if by_column or not shape else RowFile(path, offset, dtype, shape)


def read_npz(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a .npz file by name."""
    with open_regular(path) as stream:
        _check_archive(stream, path)
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}


def _check_archive(stream: BufferedReader, path: Path) -> None:
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        names = [member.filename for member in members]
        unpacked = sum(member.file_size for member in members)
        largest = max(SMALL, RATIO * path.stat().st_size)
        if unpacked > largest:
            raise _refuse(path, f"it would unpack to {unpacked:,} bytes", f"at most {largest:,} bytes")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise _refuse(path, f"two members are called {printable(twice)}", "one member per array")
        for member in members:
            shown = printable(member.filename)
            if member.flag_bits & 0x1:
                raise _refuse(path, f"the member {shown} is encrypted", "arrays without a password")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise _refuse(path, f"the member {shown} is compressed in an unknown way", "np.savez_compressed")
            if not member.filename.endswith(".npy"):
                raise _refuse(path, f"the member {shown} is not an array", "members that end in .npy")
            with archive.open(member) as inside:
                _check_header(inside, member.file_size, f"{path.name}: {shown}")


def _check_header(stream: IO[bytes], size: int, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type; an array of objects, or one larger or smaller than its file says, is refused."""
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"{name} has the unknown format version {version}")
    try:
        shape, by_column, dtype = _HEADERS[version](stream)
    except (tokenize.TokenError, SyntaxError, TypeError, KeyError, AttributeError) as error:
        # NumPy reads the header as Python source and passes on most of what can be wrong with that.
        raise ValueError(f"{name} has a damaged header ({error})") from None
    if dtype.hasobject:
        raise FttError(
            f"{name} holds Python objects",
            given=f"type {dtype}",
            allowed="numbers and texts; arrays of Python objects (pickle) are never loaded",
        )
    claimed = int(dtype.itemsize)
    for length in shape:
        claimed *= length
    held = size - stream.tell()
    if min(shape, default=0) < 0 or claimed != held:
        raise FttError(
            f"{name} does not hold the array that its header describes",
            given=f"shape {str(shape)[:80]} of {dtype}, {claimed:,} bytes",
            allowed=f"{held:,} bytes, as in the file",
            hint="write the file again with np.save or np.savez",
        )
    return shape, by_column, dtype


def _refuse(path: Path, given: str, allowed: str) -> FttError:
    return FttError(f"{path.name} cannot be read", given=given, allowed=allowed)


def pieces_of_npy(path: Path, rows: int) -> Iterator[npt.NDArray[Any]]:
    """The array of a .npy file, some rows at a time."""
    with open_regular(path) as stream:
        yield from _pieces(stream, path.stat().st_size, path.name, rows)


def pieces_of_npz(path: Path, name: str, rows: int) -> Iterator[npt.NDArray[Any]]:
    """One array of a .npz file, compressed or not, some rows at a time."""
    with open_regular(path) as stream:
        _check_archive(stream, path)
        stream.seek(0)
        with zipfile.ZipFile(stream) as archive:
            members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
            if name not in members:
                raise unknown(f"array in {path.name}", name, members, hint="name the right one with --column")
            with archive.open(members[name]) as inside:
                yield from _pieces(inside, members[name].file_size, f"{path.name}: {printable(name)}", rows)


def _pieces(stream: IO[bytes], size: int, name: str, rows: int) -> Iterator[npt.NDArray[Any]]:
    shape, by_column, dtype = _check_header(stream, size, name)
    if by_column or not shape:
        raise FttError(
            f"{name} cannot be read row by row",
            given="an array in Fortran order" if shape else "a single number",
            allowed="an array in C order",
            hint="np.save(path, np.ascontiguousarray(array))",
        )
    each = int(dtype.itemsize) * int(np.prod(shape[1:], dtype=np.int64))
    for start in range(0, shape[0], rows):
        count = min(rows, shape[0] - start)
        content = stream.read(count * each)
        if len(content) != count * each:
            raise ValueError(f"{name} ends too early")
        yield np.frombuffer(content, dtype=dtype).reshape(count, *shape[1:])
