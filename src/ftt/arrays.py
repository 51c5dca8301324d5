"""The array types that signatures name, and small codes as text."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.floating[Any]]
Float32Array = npt.NDArray[np.float32]
StrArray = npt.NDArray[np.str_]


def pack(codes: IntArray) -> str:
    """Class or attribute codes as a short text, for JSON; `unpack` reads it back.

    Examples
    --------
    >>> unpack(pack(np.array([0, 1, 1, 0]))).tolist()
    [0, 1, 1, 0]
    """
    return base64.b64encode(zlib.compress(np.asarray(codes, dtype="<u2").tobytes(), 9)).decode()


def unpack(text: str) -> IntArray:
    """The codes of `pack`."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<u2").astype(np.int64)
