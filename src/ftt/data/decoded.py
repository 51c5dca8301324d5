"""Images decoded once: one array on disk that is read row by row, with the hashes of files and pixels beside it.

Decoding is the slow part of reading images, and every epoch reads them all. The first read decodes them in a stream
(memory does not depend on their number) to ``<cache>/decoded/<key>``; later ones, in this process or another, copy rows
of a memory map and verify each the first time. The key stands for the files (names, sizes, times), the size and the
way of decoding.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ftt import checked
from ftt.arrays import IntArray
from ftt.atomic import replacing
from ftt.data.images import Broken, EncodedImages, ImageFiles, fingerprint_of, in_threads, refuse_broken, rows_without
from ftt.data.inputs import Inputs
from ftt.data.pixels import DECODING, Pixels
from ftt.data.roots import Roots
from ftt.errors import FttError
from ftt.network import locked
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
            f"not enough space in {roots.cache} for {kept.bytes / GB:.1f} GB of decoded images: "
            "they are decoded at every read; set FTT_CACHE to a larger disk to avoid this"
        )
        return images
    return DecodedImages(kept, np.arange(len(images)))


def peek(inputs: Inputs, rows: IntArray) -> npt.NDArray[Any]:
    """A few rows, for a look: images that are not decoded yet are not all decoded for that."""
    if isinstance(inputs, DecodedImages) and not inputs.kept.there():
        return inputs.kept.images.read(inputs.rows[rows])
    return inputs.read(rows)


@dataclass(frozen=True)
class Notes:
    """What is known of n decoded images: (n, 32) SHA-256 of their files and of their pixels, and the broken ones."""

    files: npt.NDArray[np.uint8]
    pixels: npt.NDArray[np.uint8]
    broken: list[Broken]


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
        return fingerprint_of(
            (row.tobytes() for row in self.kept.notes().files[self.rows]), self.kept.images.size, len(self)
        )

    def whole_rows(self) -> IntArray:
        """The rows that can be decoded; what is left out is reported."""
        found = self.kept.open(tolerant=True)
        return np.flatnonzero(np.isin(self.rows, rows_without(self.kept.images, found)))

    def _refuse_broken(self) -> None:
        if found := self.kept.open():
            mine = set(self.rows.tolist())
            refuse_broken([bad for bad in found if bad.row in mine], len(self))


class KeptImages:
    """The array of all images of one list, made when it is first asked for, by one process at a time.

    ``images.npy`` holds the pixels, ``notes.safetensors`` the hashes of files and pixels and the broken images.
    """

    def __init__(self, images: EncodedImages, root: Path) -> None:
        self.images = images
        self.root = root
        self.shape = (len(images), images.size, images.size, 3)
        self.bytes = int(np.prod(self.shape))
        self._notes: Notes | None = None
        self._verified = np.zeros(len(images), dtype=bool)

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
        """Make the array if it is not there, and list its broken images; unless `tolerant` these stop the making."""
        return self.notes(tolerant).broken

    def notes(self, tolerant: bool = False) -> Notes:
        """What is known of the images, made together with the array if one of the two is missing or damaged."""
        if self._notes is None:
            self._notes = self._read_notes()
        if self._notes is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            with locked(self.folder / "lock", f"it decodes the same {len(self.images):,} images"):
                # Whoever held the lock before may have made it.
                self._notes = self._read_notes() or self._make(tolerant)
        return self._notes

    def read(self, rows: IntArray) -> Pixels:
        for _ in range(2):
            notes = self.notes()
            picked = self._mapped(rows)
            if picked is not None and self._same(rows, picked, notes):
                return picked
            self._report()
            self.pixels.unlink(missing_ok=True)
            self._notes = None
            self._verified[:] = False
            self.notes(tolerant=bool(notes.broken))
        raise FttError(
            "decoded images change while they are read",
            given=self.pixels,
            allowed="a disk that keeps what is written to it",
            hint="set FTT_CACHE to another disk",
        )

    def _report(self) -> None:
        say(f"decoded images are damaged and are made again: {self.pixels}")

    def _same(self, rows: IntArray, picked: Pixels, notes: Notes) -> bool:
        """Whether these pixels are those that were written."""
        # Each row once per process: that costs little beside decoding, and nothing in later epochs.
        new = np.flatnonzero(~self._verified[rows])
        for n, sha in zip(new, in_threads(lambda n: _sha256(picked[n]), new.tolist()), strict=True):
            if sha != notes.pixels[rows[n]].tobytes():
                return False
        self._verified[rows[new]] = True
        return True

    def _mapped(self, rows: IntArray) -> Pixels | None:
        # A map of its own for every read: the pages of a map that stays open count as this process's memory for good.
        try:
            header = _header(self.shape)
            mapped = np.memmap(self.pixels, dtype=np.uint8, mode="r", offset=len(header), shape=self.shape)
            with self.pixels.open("rb") as stream:
                if stream.read(len(header)) != header:
                    return None
        except (OSError, ValueError):
            return None
        picked: Pixels = np.ascontiguousarray(mapped[rows])
        return picked

    def _read_notes(self) -> Notes | None:
        if not self.there():
            if self.pixels.is_file():
                self._report()
            return None
        found = checked.read(self.folder / "notes.safetensors", "decoded images")
        if found is None:
            return None
        arrays, notes = found
        return Notes(arrays["files"], arrays["pixels"], [Broken(**bad) for bad in notes["broken"]])

    def _make(self, tolerant: bool) -> Notes:
        n = len(self.images)
        say(f"decoding {n:,} images once to {self.folder} ({self.bytes / GB:.2g} GB)")
        notes = Notes(np.zeros((n, 32), dtype=np.uint8), np.zeros((n, 32), dtype=np.uint8), [])
        with replacing(self.pixels) as scratch:
            with scratch.open("wb") as sink:
                sink.write(_header(self.shape))
                for row, (pixels, sha, bad) in enumerate(self._decoded()):
                    notes.files[row] = np.frombuffer(sha, dtype=np.uint8)
                    notes.pixels[row] = np.frombuffer(_sha256(pixels), dtype=np.uint8)
                    if bad is not None:
                        notes.broken.append(bad)
                    sink.write(pixels.data)
            if not tolerant:
                refuse_broken(notes.broken, n)
            arrays = {"files": notes.files, "pixels": notes.pixels}
            checked.write(self.folder / "notes.safetensors", arrays, {"broken": [asdict(bad) for bad in notes.broken]})
        return notes

    def _decoded(self) -> Iterator[tuple[Pixels, bytes, Broken | None]]:
        rows = range(len(self.images))
        return track(in_threads(self.images.attempt, rows), "decoding images", total=len(rows))


def verify(path: Path) -> None:
    """Compare all decoded images beside these notes with the notes; `DamagedError` if they differ."""
    arrays, _ = checked.load(path)
    pixels = path.with_name("images.npy")
    if not pixels.is_file():
        # Both are made again.
        return
    try:
        images = np.load(pixels, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise checked.DamagedError(f"{pixels.name}: {error}") from None
    same = len(images) == len(arrays["pixels"]) and images.dtype == np.uint8
    if not same or any(_sha256(row) != sha.tobytes() for row, sha in zip(images, arrays["pixels"], strict=True)):
        raise checked.DamagedError(f"the checksum of {pixels.name} is wrong")


def _sha256(pixels: Pixels) -> bytes:
    return hashlib.sha256(pixels.data).digest()


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
