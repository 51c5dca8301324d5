"""What a model accepts: the kind and shape of its inputs, and how Python objects become such inputs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ftt.data.decoded import peek
from ftt.data.grouped import Split
from ftt.data.images import ImageFiles
from ftt.data.inputs import ArrayInputs, Inputs, Kind
from ftt.data.pixels import Pixels, decode_whole
from ftt.data.texts import Texts
from ftt.errors import FttError, unknown

COLUMNS: dict[Kind, str] = {"images": "path", "features": "features", "texts": "text"}
"""Where a table has the inputs unless another column is named."""


@dataclass(frozen=True)
class Accepted:
    """The inputs of a model.

    Attributes
    ----------
    kind : {"images", "features", "texts"}
    shape : tuple of int
        Of one input: (H, W, C) of an image, (d,) of features, () of a text.
    column : str
        Where a table has them: the paths of images, the texts, or the features.
    """

    kind: Kind
    shape: tuple[int, ...]
    column: str

    @classmethod
    def like(cls, inputs: Inputs, column: str | None = None) -> Accepted:
        """Inputs such as these, of which one is looked at."""
        shape = () if inputs.kind == "texts" else peek(inputs, np.zeros(1, dtype=np.int64)).shape[1:]
        return cls(inputs.kind, tuple(int(side) for side in shape), column or COLUMNS[inputs.kind])

    @property
    def rows_at_once(self) -> int:
        """How many rows are held at a time."""
        return 4096 if self.kind == "features" else 256

    @property
    def cropped(self) -> bool:
        """Whether image files of any size are brought to this one; others must have it already."""
        return self.shape[0] == self.shape[1] and self.shape[2] == 3

    def image_files(self, paths: Sequence[Path]) -> ImageFiles:
        """Image files, decoded as those were that the model was fitted on."""
        return ImageFiles(paths, self.shape[0]) if self.cropped else _ImagesOfOneSize(paths, self.shape)

    def inputs(self, given: Any) -> Inputs:
        """Paths, a table, an array, texts, a split or inputs as inputs of this model."""
        if isinstance(given, Split):
            given = given.inputs
        if hasattr(given, "read") and hasattr(given, "fingerprint"):
            return self._checked(given)
        if hasattr(given, "columns"):
            return self._of_table(given)
        if self.kind == "features":
            return self.features(given)
        if self.kind == "images" and isinstance(given, np.ndarray) and given.dtype.kind != "U" and given.ndim > 1:
            return self._checked(ArrayInputs(given, "images"))
        listed: list[Any] = [given] if isinstance(given, str | os.PathLike) else list(given)
        if self.kind == "texts":
            _require(listed, str, "a text")
            return Texts(listed)
        _require(listed, str | os.PathLike, "a path of an image")
        return self.image_files([Path(path) for path in listed])

    def features(self, given: Any) -> ArrayInputs:
        """Rows of numbers, checked."""
        try:
            table = np.asarray(given, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise self._refused(f"{type(given).__name__}: {error}") from None
        if table.ndim != 2 or table.shape[1:] != self.shape:
            raise self._refused(f"shape {table.shape}")
        bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
        if bad.size:
            raise FttError(
                "features contain NaN or infinity",
                given=f"{bad.size} of {len(table)} rows, the first is row {bad[0]}",
                allowed="finite numbers",
                hint="repair or drop these rows",
            )
        return ArrayInputs(table, "features")

    def _of_table(self, table: Any) -> Inputs:
        """The column of a pandas or polars DataFrame, or all its columns where the model takes features."""
        names = [str(name) for name in table.columns]
        if self.kind == "features":
            numbered = [name for name in names if name.startswith(f"{self.column}_")]
            chosen = numbered if len(numbered) == self.shape[0] else list(table.columns)
            return self.features(table[chosen].to_numpy())
        if self.column not in names and len(names) > 1:
            raise unknown("column", self.column, names, hint="pass the column itself: predict(table['…'])")
        return self.inputs(list(table[self.column if self.column in names else table.columns[0]]))

    def _checked(self, inputs: Inputs) -> Inputs:
        """Inputs that are there already, of the right kind and shape."""
        found = Accepted.like(inputs) if len(inputs) else self
        same = found.kind == self.kind and found.shape == self.shape
        if not same:
            raise self._refused(f"{found.kind} of shape {found.shape}")
        if isinstance(inputs, ArrayInputs) and self.kind == "images" and inputs.array.dtype != np.uint8:
            raise self._refused(f"pixels of type {inputs.array.dtype}", "np.uint8, 0 to 255")
        return inputs

    def _refused(self, given: str, allowed: str | None = None) -> FttError:
        sides = ", ".join(map(str, self.shape))
        return FttError(
            "the model does not take such inputs", given=given, allowed=allowed or f"{_WORDS[self.kind]}({sides})"
        )


_WORDS: dict[Kind, str] = {
    "images": "paths of images, or an array of uint8 images of shape (n, H, W, C) with (H, W, C) = ",
    "features": "an array or table of numbers with n rows of shape ",
    "texts": "a list of texts ",
}


class _ImagesOfOneSize(ImageFiles):
    """Image files that must have the size of the images the model was fitted on, which were never scaled."""

    def __init__(self, paths: Sequence[Path], shape: tuple[int, ...]) -> None:
        super().__init__(paths, max(shape[:2]))
        self._shape = shape

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    def pixels(self, content: bytes) -> Pixels:
        found = decode_whole(content)
        (height, width), (wanted, across) = found.shape[:2], self.shape[:2]
        if (height, width) != (wanted, across):
            raise FttError(
                "the image has another size", given=f"{width} x {height} pixels, the model takes {across} x {wanted}"
            )
        return found[..., : self.shape[2]]

    def take(self, rows: npt.NDArray[np.int64]) -> _ImagesOfOneSize:
        return _ImagesOfOneSize([self.paths[int(row)] for row in rows], self.shape)


def _require(listed: list[Any], kind: Any, words: str) -> None:
    for row, value in enumerate(listed):
        if not isinstance(value, kind):
            raise FttError(f"row {row} is not {words}", given=repr(value)[:80], allowed=f"{words} per row")
