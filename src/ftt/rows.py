"""Tables of features that need not fit in memory: read by rows, or block after block.

A small table is an array. A large one is a list of files, of which every read maps the rows it needs and lets go of
them again: pages of a map that stays open would count as this process's memory for good.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ftt.arrays import Float32Array, IntArray

BLOCK = 8192
"""Rows that are handled at once; a table of at most as many is one array, computed with in one piece."""


class Rows(ABC):
    """An (n, m) float32 table."""

    shape: tuple[int, int]

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def read(self, rows: IntArray) -> Float32Array:
        """These rows, in this order."""

    def span(self, start: int, stop: int) -> Float32Array:
        """The rows from `start` up to `stop`."""
        return self.read(np.arange(start, min(stop, len(self))))

    def blocks(self, size: int = BLOCK) -> Iterator[Float32Array]:
        """All rows in order, at most `size` at a time."""
        for start in range(0, len(self), size):
            yield self.span(start, start + size)

    def array(self) -> Float32Array:
        """The whole table in memory."""
        return self.span(0, len(self))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.array(), dtype=dtype, copy=copy)


class InMemory(Rows):
    """A table that is an array.

    Examples
    --------
    >>> table = InMemory(np.arange(6, dtype=np.float32).reshape(3, 2))
    >>> table.read(np.array([2, 0])).tolist(), [len(block) for block in table.blocks(2)]
    ([[4.0, 5.0], [0.0, 1.0]], [2, 1])
    """

    def __init__(self, values: Float32Array) -> None:
        self.values = values
        self.shape = (values.shape[0], values.shape[1])

    def read(self, rows: IntArray) -> Float32Array:
        return self.values[rows]

    def span(self, start: int, stop: int) -> Float32Array:
        return self.values[start:stop]

    def array(self) -> Float32Array:
        return self.values


@dataclass(frozen=True)
class RowFile:
    """An array inside a file, C-ordered from `offset` on; indexed by rows like an array, mapped anew for every read."""

    path: Path
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: IntArray | slice) -> npt.NDArray[Any]:
        mapped = np.memmap(self.path, dtype=self.dtype, mode="r", offset=self.offset, shape=self.shape)
        # Plain arrays in memory: `np.array` also drops the subclass, which would keep the map open.
        picked: npt.NDArray[Any] = np.array(mapped[rows], copy=True, subok=False)
        return picked


class Shards(Rows):
    """A table in files of equally many rows, of which the last may have fewer."""

    def __init__(self, files: Sequence[RowFile]) -> None:
        self.files = tuple(files)
        self.each = len(self.files[0])
        self.shape = (sum(map(len, self.files)), self.files[0].shape[1])

    def read(self, rows: IntArray) -> Float32Array:
        found = np.empty((len(rows), self.shape[1]), dtype=np.float32)
        number = rows // self.each
        for shard in np.unique(number):
            mine = number == shard
            found[mine] = self.files[shard][rows[mine] - shard * self.each]
        return found

    def span(self, start: int, stop: int) -> Float32Array:
        stop = min(stop, len(self))
        numbers = range(start // self.each, -(-stop // self.each))
        parts = [self.files[i][max(0, start - i * self.each) : stop - i * self.each] for i in numbers]
        return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else self.read(np.arange(0))


class Mapped(Rows):
    """A function of the rows of another table, computed when they are read.

    Parameters
    ----------
    base : Rows
    function : callable
        From (n, m) to (n, width), row by row.
    width : int
    """

    def __init__(self, base: Rows, function: Callable[[Float32Array], Float32Array], width: int) -> None:
        self.base = base
        self.function = function
        self.shape = (len(base), width)

    def read(self, rows: IntArray) -> Float32Array:
        return self.function(self.base.read(rows))

    def span(self, start: int, stop: int) -> Float32Array:
        return self.function(self.base.span(start, stop))


class SideBySide(Rows):
    """The columns of several tables of the same rows."""

    def __init__(self, parts: Sequence[Rows]) -> None:
        self.parts = tuple(parts)
        self.shape = (len(self.parts[0]), sum(part.shape[1] for part in self.parts))

    def read(self, rows: IntArray) -> Float32Array:
        return self._joined([part.read(rows) for part in self.parts])

    def span(self, start: int, stop: int) -> Float32Array:
        return self._joined([part.span(start, stop) for part in self.parts])

    def _joined(self, found: list[Float32Array]) -> Float32Array:
        return found[0] if len(found) == 1 else np.concatenate(found, axis=1)
