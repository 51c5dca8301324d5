"""The array types that signatures name, defined once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.floating[Any]]
Float32Array = npt.NDArray[np.float32]
StrArray = npt.NDArray[np.str_]
