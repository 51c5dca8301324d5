"""Texts of any length, in memory, identified by content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ftt.data.inputs import Kind


class Texts:
    """n texts.

    They are kept as `numpy.dtypes.StringDType`: a fixed-width array would give every text the room of the longest.

    Examples
    --------
    >>> texts = Texts(["short", "a good deal longer"])
    >>> texts.take(np.array([1])).read(np.array([0])).tolist()
    ['a good deal longer']
    """

    kind: Kind = "texts"

    def __init__(self, values: Iterable[str] | npt.NDArray[Any]) -> None:
        rows = values if isinstance(values, np.ndarray) else [str(value) for value in values]
        self.values: npt.NDArray[Any] = np.asarray(rows, dtype=np.dtypes.StringDType())

    def __len__(self) -> int:
        return len(self.values)

    def read(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        picked: npt.NDArray[Any] = self.values[rows]
        return picked

    def take(self, rows: npt.NDArray[np.int64]) -> Texts:
        return Texts(self.values[rows])

    def fingerprint(self) -> str:
        sha = hashlib.sha256(f"texts {len(self)}".encode())
        for value in self.values:
            raw = str(value).encode()
            # The length in front keeps "ab", "c" apart from "a", "bc".
            sha.update(len(raw).to_bytes(8, "big"))
            sha.update(raw)
        return sha.hexdigest()
