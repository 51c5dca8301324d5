"""What goes into a backbone: arrays in memory or files on disk, read by index, identified by content."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from ftt.errors import FttError

Kind = Literal["images", "features", "texts"]


class Inputs(Protocol):
    """n inputs of one kind and one shape."""

    @property
    def kind(self) -> Kind: ...

    def __len__(self) -> int: ...

    def read(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """These rows: images as (n, H, W, C) uint8, features as (n, d) float32, texts as (n,) str."""
        ...

    def take(self, rows: npt.NDArray[np.int64]) -> Inputs:
        """The same inputs, these rows only."""
        ...

    def fingerprint(self) -> str:
        """SHA-256 of the content, so that what was computed from it can be found again."""
        ...


class ArrayInputs:
    """Images or features that are in memory (or memory-mapped) already."""

    def __init__(self, array: npt.NDArray[Any], kind: Kind, rows: npt.NDArray[np.int64] | None = None) -> None:
        self.array = array
        self.kind: Kind = kind
        self.rows = np.arange(len(array)) if rows is None else rows

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        picked: npt.NDArray[Any] = self.array[self.rows[rows]]
        return picked

    def take(self, rows: npt.NDArray[np.int64]) -> ArrayInputs:
        return ArrayInputs(self.array, self.kind, self.rows[rows])

    def fingerprint(self) -> str:
        shape = (len(self.rows), *self.array.shape[1:])
        sha = hashlib.sha256(f"{self.kind} {self.array.dtype.str} {shape}".encode())
        for start in range(0, len(self.rows), 4096):
            sha.update(self.array[self.rows[start : start + 4096]].tobytes())
        return sha.hexdigest()


class ImageFiles:
    """Image files, decoded to RGB, the shorter side scaled to `size` and the centre cut out."""

    kind: Kind = "images"

    def __init__(self, paths: list[Path], size: int) -> None:
        self.paths = paths
        self.size = size

    def __len__(self) -> int:
        return len(self.paths)

    def read(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        return np.stack([decode(self.paths[int(row)], self.size) for row in rows])

    def take(self, rows: npt.NDArray[np.int64]) -> ImageFiles:
        return ImageFiles([self.paths[int(row)] for row in rows], self.size)

    def fingerprint(self) -> str:
        sha = hashlib.sha256(f"files {self.size} {len(self)}".encode())
        for path in self.paths:
            sha.update(hashlib.sha256(path.read_bytes()).digest())
        return sha.hexdigest()


def decode(path: Path, size: int) -> npt.NDArray[np.uint8]:
    """One image as (size, size, 3) uint8; a file that is not an image is named in the error."""
    try:
        with Image.open(path) as image:
            rgb = image.convert("RGB")
    except FileNotFoundError:
        raise FttError("an image of the list is missing", given=path, allowed="a file that exists") from None
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as error:
        raise FttError(
            f"an image cannot be decoded: {path.name}",
            given=f"{path} ({error})",
            allowed="a whole image file that PIL reads",
            hint="repair it or take its row out of the list",
        ) from None
    scale = size / min(rgb.size)
    width, height = (max(size, round(side * scale)) for side in rgb.size)
    left, top = (width - size) // 2, (height - size) // 2
    # One resampling does both: the crop box is mapped back into the original picture.
    box = (left / scale, top / scale, min((left + size) / scale, rgb.width), min((top + size) / scale, rgb.height))
    small = rgb.resize((size, size), Image.Resampling.BILINEAR, box=box, reducing_gap=2.0)
    return np.asarray(small, dtype=np.uint8)
