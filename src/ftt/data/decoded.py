"""Images decoded once: one array on disk that is read row by row, and the hash of every file beside it.

Decoding is the slow part of reading images, and every epoch reads them all. The first read decodes them in a stream
(memory does not depend on their number) to ``<cache>/decoded/<key>``; later ones, in this process or another, copy rows
of a memory map. The key stands for the files (names, sizes, times), the size and the way of decoding.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from filelock import FileLock

from ftt.arrays import IntArray
from ftt.atomic import replacing
from ftt.data.images import Broken, EncodedImages, ImageFiles, fingerprint_of, in_threads, refuse_broken, rows_without
from ftt.data.inputs import Inputs
from ftt.data.pixels import DECODING, Pixels
from ftt.data.roots import Roots
from ftt.params import digest
from ftt.progress import say, track

GB = 1e9


def image_inputs(paths: Sequence[Path], size: int, roots: Roots) -> EncodedImages | DecodedImages:
    """Image files as inputs, decoded once where the cache has the room. Nothing is read before it is needed."""
    return decoded_once(ImageFiles(paths, size), roots)


def decoded_once(images: EncodedImages, roots: Roots) -> EncodedImages | DecodedImages:
    """The images from the cache of decoded ones; where that has no room they are decoded at every read."""
    kept = KeptImages(images, roots.cache / "decoded")
    if kept.bytes > _free(roots.cache) and not kept.there():
        say(
            f"{roots.cache} cannot take {kept.bytes / GB:.1f} GB of decoded images: "
            "they are decoded anew at every read; set FTT_CACHE to a disk with room to avoid that"
        )
        return images
    return DecodedImages(kept, np.arange(len(images)))


def peek(inputs: Inputs, rows: IntArray) -> npt.NDArray[Any]:
    """A few rows, for a look: images that are not decoded yet are not all decoded for that."""
    if isinstance(inputs, DecodedImages) and not inputs.kept.there():
        return inputs.kept.images.read(inputs.rows[rows])
    return inputs.read(rows)


class DecodedImages:
    """Rows of an array of decoded images."""

    kind: Literal["images"] = "images"

    def __init__(self, kept: KeptImages, rows: IntArray) -> None:
        self.kept = kept
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, rows: IntArray) -> Pixels:
        self._refuse_broken()
        return self.kept.read(self.rows[rows])

    def take(self, rows: IntArray) -> DecodedImages:
        return DecodedImages(self.kept, self.rows[rows])

    def fingerprint(self) -> str:
        self._refuse_broken()
        return fingerprint_of((row.tobytes() for row in self.kept.hashes[self.rows]), self.kept.images.size, len(self))

    def whole_rows(self) -> IntArray:
        """The rows that can be decoded; what is left out is said."""
        found = self.kept.open(tolerant=True)
        return np.flatnonzero(np.isin(self.rows, rows_without(self.kept.images, found)))

    def _refuse_broken(self) -> None:
        if found := self.kept.open():
            mine = set(self.rows.tolist())
            refuse_broken([bad for bad in found if bad.row in mine], len(self))


class KeptImages:
    """The array of all images of one list, made when it is first asked for, by one process at a time."""

    def __init__(self, images: EncodedImages, root: Path) -> None:
        self.images = images
        self.root = root
        self.shape = (len(images), images.size, images.size, 3)
        self.bytes = int(np.prod(self.shape))
        self._broken: list[Broken] | None = None

    @cached_property
    def folder(self) -> Path:
        return self.root / digest(DECODING, self.shape, self.images.stamp())

    @property
    def pixels(self) -> Path:
        return self.folder / "images.npy"

    def there(self) -> bool:
        """Whether the array is complete; it is written last, under another name until it is whole."""
        return self.pixels.is_file() and self.pixels.stat().st_size == len(_header(self.shape)) + self.bytes

    def open(self, *, tolerant: bool = False) -> list[Broken]:
        """Make the array if it is not there, and tell its broken images; unless `tolerant` these stop the making."""
        if self._broken is not None:
            return self._broken
        if not self.there():
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self.folder / "lock"):
                # Whoever held the lock before may have made it.
                if not self.there():
                    self._make(tolerant)
        self._broken = [Broken(**bad) for bad in json.loads((self.folder / "broken.json").read_text())]
        return self._broken

    @cached_property
    def hashes(self) -> npt.NDArray[np.uint8]:
        """(n, 32) SHA-256 of every file."""
        self.open()
        found: npt.NDArray[np.uint8] = np.load(self.folder / "hashes.npy", allow_pickle=False)
        return found

    def read(self, rows: IntArray) -> Pixels:
        # A map of its own for every read: the pages of a map that stays open count as this process's memory for good.
        mapped = np.load(self.pixels, mmap_mode="r", allow_pickle=False)
        picked: Pixels = np.ascontiguousarray(mapped[rows])
        return picked

    def _make(self, tolerant: bool) -> None:
        n = len(self.images)
        say(f"decoding {n:,} images once to {self.folder} ({self.bytes / GB:.2g} GB)")
        hashes = np.zeros((n, 32), dtype=np.uint8)
        broken: list[Broken] = []
        with replacing(self.pixels) as scratch:
            with scratch.open("wb") as sink:
                sink.write(_header(self.shape))
                for row, (pixels, sha, bad) in enumerate(self._decoded()):
                    hashes[row] = np.frombuffer(sha, dtype=np.uint8)
                    if bad is not None:
                        broken.append(bad)
                    sink.write(pixels.data)
            if not tolerant:
                refuse_broken(broken, n)
            with replacing(self.folder / "hashes.npy") as beside, beside.open("wb") as sink:
                np.save(sink, hashes)
            with replacing(self.folder / "broken.json") as beside:
                beside.write_text(json.dumps([asdict(bad) for bad in broken]))

    def _decoded(self) -> Iterator[tuple[Pixels, bytes, Broken | None]]:
        rows = range(len(self.images))
        return track(in_threads(self.images.attempt, rows), "decoding images", total=len(rows))


def _header(shape: tuple[int, ...]) -> bytes:
    """The first bytes of the .npy file of a uint8 array, for writing it piece by piece."""
    sink = BytesIO()
    np.lib.format.write_array_header_1_0(sink, {"descr": "|u1", "fortran_order": False, "shape": shape})
    return sink.getvalue()


def _free(folder: Path) -> int:
    """Free bytes on the disk that a folder is, or would be, on; none where nothing may be written."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free if os.access(folder, os.W_OK) else 0
