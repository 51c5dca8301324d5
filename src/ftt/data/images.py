"""Images as files hold them: decoded when read, identified by the bytes of the files, and broken ones reported."""

from __future__ import annotations

import hashlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, TypeVar

import numpy as np

from ftt import threads
from ftt.arrays import IntArray
from ftt.data.files import printable, read_regular, reason_of
from ftt.data.pixels import DECODING, READABLE, Pixels, decode, largest
from ftt.errors import FttError
from ftt.progress import say, track

T = TypeVar("T")


@dataclass(frozen=True)
class Broken:
    """An image that cannot be used: its row, its name and why."""

    row: int
    name: str
    reason: str


class EncodedImages(ABC):
    """Images as files hold them, decoded anew (in threads) whenever they are read.

    Each is made RGB, its shorter side scaled to `size` and the centre cut out (`decode`).
    """

    kind: Literal["images"] = "images"
    size: int

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def name(self, row: int) -> str:
        """The name of this image in messages."""

    @abstractmethod
    def content(self, row: int) -> bytes:
        """The encoded image; OSError where there is none."""

    @abstractmethod
    def take(self, rows: IntArray) -> Self:
        """The same images, these rows only."""

    @abstractmethod
    def stamp(self) -> str:
        """A digest that changes when an image does, found without reading the images."""

    def read(self, rows: IntArray) -> Pixels:
        decoded = list(in_threads(self.attempt, rows.tolist()))
        refuse_broken([bad for _, _, bad in decoded if bad is not None], len(self))
        return np.stack([pixels for pixels, _, _ in decoded])

    def attempt(self, row: int) -> tuple[Pixels, bytes, Broken | None]:
        """Pixels, SHA-256 of the file, and what is wrong with it; a broken image is black."""
        sha = b"\0" * 32
        try:
            content = self.content(row)
            sha = hashlib.sha256(content).digest()
            return self.pixels(content), sha, None
        except OSError as error:
            reason = reason_of(error)
        except FttError as error:
            reason = str(error.given)
        return np.zeros(self.shape, dtype=np.uint8), sha, Broken(row, self.name(row), reason)

    def pixels(self, content: bytes) -> Pixels:
        """One decoded image."""
        return decode(content, self.size)

    @property
    def shape(self) -> tuple[int, ...]:
        """(H, W, C) of one decoded image."""
        return (self.size, self.size, 3)

    def whole_rows(self) -> IntArray:
        """The rows that can be decoded, found by decoding them all; what is left out is reported."""
        passed = track(in_threads(self.attempt, range(len(self))), "checking images", total=len(self))
        return rows_without(self, [bad for _, _, bad in passed if bad is not None])

    def fingerprint(self) -> str:
        hashes = in_threads(lambda row: hashlib.sha256(self.content(row)).digest(), range(len(self)))
        return fingerprint_of(hashes, self.size, len(self))


class ImageFiles(EncodedImages):
    """Image files on disk."""

    def __init__(self, paths: Sequence[Path], size: int) -> None:
        self.paths = list(paths)
        self.size = size

    def __len__(self) -> int:
        return len(self.paths)

    def name(self, row: int) -> str:
        return printable(self.paths[row])

    def content(self, row: int) -> bytes:
        return read_regular(self.paths[row], 16 * largest())

    def take(self, rows: IntArray) -> ImageFiles:
        return ImageFiles([self.paths[int(row)] for row in rows], self.size)

    def stamp(self) -> str:
        return stamp_of(self.paths)


def stamp_of(paths: Sequence[Path]) -> str:
    """Digest of names below the common folder, sizes and times; a moved folder keeps its stamp."""
    common = os.path.commonpath({path.parent.absolute() for path in paths}) if paths else ""
    sha, here = hashlib.sha256(), Path.cwd()
    prefix = common.rstrip(os.sep) + os.sep
    for path in paths:
        try:
            stat = os.stat(path)  # noqa: PTH116 (pathlib takes longer for many files)
            # The time of the last change of any kind catches new content under the old size and modification time.
            found = f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}"
        except OSError:
            found = "missing"
        whole = os.path.join(here, path)  # noqa: PTH118
        # `relpath` takes longer than asking for size and times; it is needed where a path goes up again.
        plain = whole.startswith(prefix) and ".." not in path.parts
        below = whole[len(prefix) :] if plain else os.path.relpath(whole, common)
        sha.update(f"{below}\0{found}\0".encode())
    return sha.hexdigest()


def fingerprint_of(hashes: Iterable[bytes], size: int, count: int) -> str:
    """SHA-256 of the hashes of the files: the same whether they were computed just now or long ago."""
    sha = hashlib.sha256(f"images {DECODING} {size} {count}".encode())
    for part in hashes:
        sha.update(part)
    return sha.hexdigest()


def in_threads(work: Callable[[int], T], rows: Sequence[int], ahead: int = 64) -> Iterator[T]:
    """`work` of every row in order, by several threads (PIL decodes and scales without the interpreter's lock).

    At most `ahead` rows per thread are under way, so that memory does not grow with the number of rows.
    """
    torch = sys.modules.get("torch")
    count = min(threads.available(), torch.get_num_threads() if torch is not None else threads.available())
    if count < 2 or len(rows) < 2:
        yield from map(work, rows)
        return
    with ThreadPoolExecutor(count) as pool:
        for start in range(0, len(rows), ahead * count):
            yield from pool.map(work, rows[start : start + ahead * count])


SHOWN = 10
"""How many broken images an error lists."""


def refuse_broken(found: Sequence[Broken], total: int) -> None:
    """One error for all images that cannot be used; nothing where there are none."""
    if not found:
        return
    listed = "".join(f"\n           {bad.name} ({bad.reason})" for bad in found[:SHOWN])
    more = f"\n           and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    raise FttError(
        f"{len(found)} of {total} images cannot be decoded" if len(found) > 1 else "an image cannot be decoded",
        given=(listed + more).strip(),
        allowed=f"{READABLE} for every row",
        hint="repair them, remove their rows, or leave them out with --skip-broken",
    )


def rows_without(images: EncodedImages, found: Sequence[Broken]) -> IntArray:
    """The rows that are not broken; reports how many are left out."""
    if found:
        names = ", ".join(Path(bad.name).name for bad in found[:3])
        say(f"left out {len(found)} of {len(images)} images that cannot be decoded: {names}{' …' * (len(found) > 3)}")
    return np.setdiff1d(np.arange(len(images)), [bad.row for bad in found])
