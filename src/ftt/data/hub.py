"""Data sets of Hugging Face: a folder saved with `save_to_disk`, or a name. Arrow files only; no code is run.

Needs the extra ``[hub]``. A `DatasetDict` with train, validation and test gives the splits; a single data set has a
split column, or splits are made.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ftt.arrays import IntArray
from ftt.data.checksums import Checksums
from ftt.data.columns import SPLIT_NAMES, as_texts
from ftt.data.decoded import decoded_once
from ftt.data.files import exists, printable, read_regular, require_regular
from ftt.data.grouped import SPLITS, DatasetInfo, GroupedData
from ftt.data.images import EncodedImages, stamp_of
from ftt.data.inputs import Kind
from ftt.data.own import OwnTable
from ftt.data.pixels import largest
from ftt.data.roots import Roots
from ftt.data.texts import Texts
from ftt.errors import FttError, unknown
from ftt.network import offline, prepare_hub, reach_hub, waiting_for
from ftt.params import Json, digest, param

Parts = Mapping[str, Any]
"""The `datasets.Dataset`s of a data set by the name of their split; one without splits is called ""."""


@dataclass(frozen=True)
class Hub(OwnTable):
    """A Hugging Face data set with an image or a text column, a label and an attribute."""

    name: ClassVar[str] = "huggingface"
    info: ClassVar[DatasetInfo] = DatasetInfo(
        name="huggingface",
        classes=(),
        attributes=(),
        summary="your Hugging Face data set: a folder of save_to_disk, or a name",
        how_to_get="ftt run huggingface --path FOLDER --label label --attribute background --image image",
    )

    path: str = param(help="folder written by save_to_disk, or data set name")
    label: str = param("label", help="column of the observed label")
    image: str = param("image", help="column of the image")
    text: str | None = param(None, help="text column, used as input instead of images")
    size: int = param(224, help="image size in pixels (shorter side, then centre crop)", low=16, high=4096)
    skip_broken: bool = param(False, help="leave out images that cannot be decoded and report their number")

    def load(self, roots: Roots) -> GroupedData:
        parts = open_parts(self.path)
        for name, flag in (
            (self.text or self.image, "text" if self.text else "image"),
            (self.label, "label"),
            (self.attribute, "attribute"),
        ):
            _check_column(parts, name, flag)
        shared = set.intersection(*(set(part.column_names) for part in parts.values()))
        columns = {name: _column(parts, name) for name in self.used & shared}
        if "" not in parts:
            columns[self.split] = np.concatenate([np.full(len(part), name) for name, part in parts.items()])
        if self.text is not None:
            return self.group(columns, Texts(_column(parts, self.text).tolist()))
        images = decoded_once(HubImages.of(list(parts.values()), self.image, self.size, Path(self.path)), roots)
        if not self.skip_broken:
            return self.group(columns, images)
        rows = images.whole_rows()
        return self.group({name: values[rows] for name, values in columns.items()}, images.take(rows))

    @property
    def kind(self) -> Kind:
        return "texts" if self.text is not None else "images"

    def content(self, roots: Roots) -> Json:
        if exists(self.path):
            return Checksums(roots).folder_files(Path(self.path))
        try:
            parts = open_parts(self.path)
        except FttError:
            return None
        return {
            name: Checksums(roots).of(Path("/"), [file["filename"] for file in part.cache_files])
            for name, part in parts.items()
        }


class HubImages(EncodedImages):
    """The encoded images of an Image column, read one at a time from the memory-mapped Arrow files.

    A cell may name a file below `root`, the folder of the data set, in place of holding an image.
    """

    def __init__(self, parts: Sequence[Any], column: str, size: int, rows: IntArray, root: Path) -> None:
        self.parts = parts
        self.root = root
        self.column = column
        self.size = size
        self.rows = rows
        self.starts = np.cumsum([0, *(len(part) for part in parts)])

    @classmethod
    def of(cls, parts: Sequence[Any], column: str, size: int, root: Path) -> HubImages:
        """All rows of these `datasets.Dataset`s, one after another."""
        import datasets

        for part in parts:
            if not isinstance(part.features[column], datasets.Image):
                raise FttError(
                    f"column {column!r} does not hold images",
                    given=str(part.features[column]),
                    allowed="a column of the feature Image",
                    hint="name another with --image, or a column of texts with --text",
                )
        encoded = [part.select_columns([column]).cast_column(column, datasets.Image(decode=False)) for part in parts]
        images = cls(encoded, column, size, np.arange(sum(len(part) for part in parts)), root)
        images.outside()
        return images

    def __len__(self) -> int:
        return len(self.rows)

    def name(self, row: int) -> str:
        return printable(self._cell(row)["path"] or f"row {self.rows[row]}")

    def content(self, row: int) -> bytes:
        cell = self._cell(row)
        if cell["bytes"] is not None:
            return bytes(cell["bytes"])
        return read_regular(self.root / cell["path"], 16 * largest())

    def take(self, rows: IntArray) -> HubImages:
        return HubImages(self.parts, self.column, self.size, self.rows[rows], self.root)

    def stamp(self) -> str:
        files = [Path(file["filename"]) for part in self.parts for file in part.cache_files]
        lengths = [len(part) for part in self.parts]
        return digest(self.column, lengths, stamp_of([*files, *self.outside()]), self.rows.tolist())

    def _cell(self, row: int) -> dict[str, Any]:
        number = int(self.rows[row])
        part = int(np.searchsorted(self.starts, number, side="right")) - 1
        cell: dict[str, Any] | None = self.parts[part][number - int(self.starts[part])][self.column]
        return cell or {"bytes": None, "path": "(empty cell)"}

    def outside(self) -> list[Path]:
        """Files that the table only names; a name that leaves the folder of the data set is refused."""
        found: list[Path] = []
        inside, row = os.path.realpath(self.root), 0
        for part in self.parts:
            for chunk in part.data.column(self.column).chunks:
                absent = chunk.field("bytes").is_null().to_pylist() if chunk.field("bytes").null_count else []
                for n, (null, name) in enumerate(zip(absent, chunk.field("path").to_pylist(), strict=False)):
                    if null and name:
                        found.append(self._below(name, inside, row + n))
                row += len(chunk)
        return found

    def _below(self, name: str, inside: str, row: int) -> Path:
        place = "" if "\0" in name else os.path.realpath(f"{inside}/{name}")
        if name.startswith("/") or ".." in Path(name).parts or not Path(place).is_relative_to(inside):
            raise FttError(
                f"column {self.column!r} names a file outside the data set",
                given=f"row {row}: {printable(name)}",
                allowed="images in the table, or files below the folder of the data set",
                hint="save_to_disk puts the images into the table",
            )
        return self.root / name


def open_parts(path: str) -> Parts:
    """The parts of a data set on disk or by name, in the order train, val, test."""
    found = _from_disk(path) if exists(path) else _by_name(path)
    if not isinstance(found, dict):
        return {"": found}
    if len(found) == 1:
        return {"": next(iter(found.values()))}
    parts: dict[str, Any] = {}
    for name, part in found.items():
        split = SPLIT_NAMES.get(str(name).lower())
        if split is None:
            raise unknown(
                f"split in {Path(path).name}", name, SPLIT_NAMES, hint="rename it and save the data set again"
            )
        if split in parts:
            raise FttError(
                "two splits have the same meaning", given=", ".join(map(str, found)), allowed="train, validation, test"
            )
        parts[split] = part
    return {name: parts[name] for name in SPLITS if name in parts}


def _library() -> Any:
    prepare_hub()
    try:
        import datasets
    except ImportError:
        raise FttError(
            "Hugging Face data sets need the extra [hub]",
            given="huggingface",
            allowed="datasets installed",
            hint="pip install 'freeze-then-train[hub]'",
        ) from None
    return datasets


def _from_disk(path: str) -> Any:
    library = _library()
    import pyarrow as pa

    for folder, _, files in os.walk(path):
        for name in files:
            require_regular(Path(folder) / name, "regular files in the folder of a data set")
    try:
        return library.load_from_disk(path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, pa.ArrowException) as error:
        raise FttError(
            f"{Path(path).name} cannot be read as a data set",
            given=str(error).splitlines()[0][:200] if str(error) else type(error).__name__,
            allowed="a folder written by save_to_disk, with all its files",
        ) from None


@lru_cache(maxsize=2)
def _by_name(name: str) -> Any:
    library = _library()
    try:
        # Data sets that come with code of their own are refused by this library in all versions that we accept.
        reach_hub()
        with waiting_for(f"the Hugging Face hub ({printable(name)})"):
            return library.load_dataset(name)
    except (OSError, ValueError, RuntimeError, library.exceptions.DatasetsError) as error:
        raise FttError(
            f"there is no folder {printable(name)!r}, and no data set of that name is available",
            given=str(error).splitlines()[0][:200] if str(error) else type(error).__name__,
            allowed="a folder written by save_to_disk, or a name on the Hugging Face hub (with a network)",
            hint="leave out --offline, or " * offline()
            + "save it where there is a network: datasets.load_dataset(NAME).save_to_disk(FOLDER)",
        ) from None


def _check_column(parts: Parts, name: str, flag: str) -> None:
    for part in parts.values():
        if name not in part.column_names:
            raise unknown("column in the data set", name, part.column_names, hint=f"name the right one with --{flag}")


def _column(parts: Parts, name: str) -> npt.NDArray[Any]:
    """One column of all parts; codes of a ClassLabel become its names."""
    values = [value for part in parts.values() for value in _values(part, name)]
    return as_texts(values) if values and isinstance(values[0], str) else np.array(values)


def _values(part: Any, name: str) -> list[Any]:
    feature = part.features[name]
    values = part.select_columns([name]).with_format("arrow")[:][name].to_pylist()
    labels = getattr(feature, "names", None)
    for row, value in enumerate(values):
        if value is None or (labels and not 0 <= value < len(labels)):
            given = f"row {row}: {value}"
            raise FttError(f"column {name!r} has empty cells", given=given, allowed="a value in every row")
        if isinstance(value, dict | list):
            raise FttError(f"column {name!r} is not one value per row", given=str(feature), allowed="numbers or texts")
    return [labels[value] for value in values] if labels else list(values)
