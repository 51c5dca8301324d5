"""What goes into a backbone: arrays in memory or files on disk, read by index, identified by content."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from ftt.data.images import ImageFiles
from ftt.data.pixels import decode
from ftt.rows import RowFile

__all__ = ["ArrayInputs", "ImageFiles", "Inputs", "Kind", "MappedInputs", "decode"]

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
        return _content(self.array, self.kind, self.rows)


class MappedInputs:
    """Features in a file that is read by rows and never held; their fingerprint is that of the same array in memory."""

    kind: Kind = "features"

    def __init__(self, file: RowFile, rows: npt.NDArray[np.int64] | None = None) -> None:
        self.file = file
        self.rows = np.arange(len(file)) if rows is None else rows

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        return self.file[self.rows[rows]]

    def take(self, rows: npt.NDArray[np.int64]) -> MappedInputs:
        return MappedInputs(self.file, self.rows[rows])

    def fingerprint(self) -> str:
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        # Once: it reads the whole file. A run notices at its end if a file has changed meanwhile.
        return _content(self.file, self.kind, self.rows)


def _content(array: npt.NDArray[Any] | RowFile, kind: Kind, rows: npt.NDArray[np.int64]) -> str:
    """SHA-256 of these rows."""
    sha = hashlib.sha256(f"{kind} {array.dtype.str} {(len(rows), *array.shape[1:])}".encode())
    for start in range(0, len(rows), 4096):
        sha.update(array[rows[start : start + 4096]].tobytes())
    return sha.hexdigest()
