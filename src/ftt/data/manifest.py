"""Your own images or texts: a list (CSV or Parquet) with path or text, label, attribute and split."""

from __future__ import annotations

import os
import stat
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from ftt.data.checksums import Checksums
from ftt.data.columns import Columns, need, read_columns
from ftt.data.decoded import image_inputs
from ftt.data.files import is_folder, printable, reason_of
from ftt.data.grouped import DatasetInfo, GroupedData
from ftt.data.inputs import Kind
from ftt.data.own import OwnTable
from ftt.data.roots import Roots
from ftt.data.texts import Texts
from ftt.errors import FttError
from ftt.params import Json, param

IMAGE_OR_TEXT = "image, or a column of texts with --text"
"""The flags that a list without the usual column of paths may need."""


@dataclass(frozen=True)
class Manifest(OwnTable):
    """Images listed in a table, their paths relative to `image_root` (default: its folder); or a column of texts."""

    name: ClassVar[str] = "manifest"
    info: ClassVar[DatasetInfo] = DatasetInfo(
        name="manifest",
        classes=(),
        attributes=(),
        summary="your images or texts: a CSV or Parquet list with path (or a text column), y, attribute, split",
        how_to_get="ftt run manifest --path list.csv --image-root images",
    )

    paths: ClassVar[tuple[str, ...]] = ("path", "image_root")

    image_root: str | None = param(None, help="folder that image paths are relative to")
    image: str = param("path", help="column of the image path")
    size: int = param(224, help="image size in pixels (shorter side, then centre crop)", low=16, high=4096)
    text: str | None = param(None, help="text column, used as input instead of images", added=True)
    skip_broken: bool = param(False, help="leave out images that cannot be decoded and report their number", added=True)

    def load(self, roots: Roots) -> GroupedData:
        table = Path(self.path)
        columns = read_columns(table, self.used | {self.text or self.image})
        if self.text is not None:
            return self.group(columns, Texts(need(columns, self.text, table, "text").tolist()))
        images = image_inputs(self._paths(table, columns), self.size, roots)
        if not self.skip_broken:
            return self.group(columns, images)
        rows = images.whole_rows()
        return self.group({name: values[rows] for name, values in columns.items()}, images.take(rows))

    @property
    def kind(self) -> Kind:
        return "texts" if self.text is not None else "images"

    def content(self, roots: Roots) -> Json:
        table = Path(self.path)
        checksums = Checksums(roots)
        listed = checksums.of(table.parent, [table.name])[0]
        if listed is None or self.text is not None:
            return {"table": listed}
        names = need(read_columns(table, {self.image}), self.image, table, IMAGE_OR_TEXT).tolist()
        return {"table": listed, "images": checksums.manifest(self._root, list(map(str, names)))}

    @property
    def _root(self) -> Path:
        return Path(self.image_root) if self.image_root else Path(self.path).parent

    def _paths(self, table: Path, columns: Columns) -> list[Path]:
        root = self._root
        if not is_folder(root):
            raise FttError(
                "there is no such folder of images", given=printable(root), allowed="a folder", hint="set --image-root"
            )
        inside = root.resolve()
        # Following links and looking where they lead folder by folder, not file by file, takes a tenth of the time.
        folders: dict[str, _Folder] = {}
        paths, files = [], []
        for row, name in enumerate(map(str, need(columns, self.image, table, IMAGE_OR_TEXT))):
            above, last = os.path.split(name)
            try:
                if above not in folders:
                    folders[above] = _Folder(root / above, (root / above).resolve(), inside)
                path, place, is_below = folders[above].file(last)
            except (OSError, ValueError, RuntimeError) as error:
                reason = reason_of(error) if isinstance(error, OSError | ValueError) else "a link leads back to itself"
                raise FttError(
                    "an image path cannot be used", given=f"row {row}: {printable(name)} ({reason})", allowed="files"
                ) from None
            if not is_below:
                raise FttError(
                    "an image path leaves the folder",
                    given=f"row {row}: {printable(name)}",
                    allowed=f"paths below {printable(root)}",
                )
            paths.append(path)
            files.append(place)
        twice = [os.path.relpath(place, inside) for place, count in Counter(files).items() if count > 1]
        if twice:
            listed = printable(", ".join(twice[:5])) + (", …" if len(twice) > 5 else "")
            raise FttError(
                "an image is listed in several rows, so that it could be in two splits at once",
                given=f"{len(twice)} such images: {listed}",
                allowed="every image once",
                hint="remove the repeated rows from the list",
            )
        return paths


@dataclass(frozen=True)
class _Folder:
    """A folder that a list names, where it is after every link was followed, and the folder of images."""

    named: Path
    real: Path
    root: Path

    @cached_property
    def is_below(self) -> bool:
        return self.real.is_relative_to(self.root)

    def file(self, name: str) -> tuple[Path, str, bool]:
        """A file in it, where it is after every link was followed, and whether that is below the folder of images."""
        path, place = self.named / name, f"{self.real}{os.sep}{name}"
        try:
            if name not in ("", ".", "..") and not stat.S_ISLNK(os.lstat(path).st_mode):
                return path, place, self.is_below
            followed = path.resolve(strict=True)
        except FileNotFoundError:
            # Files that are missing are reported together when images are read.
            return path, place, self.is_below
        return path, str(followed), followed.is_relative_to(self.root)
