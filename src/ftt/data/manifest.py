"""Your own images: a list (CSV or Parquet) with path, label, attribute and split, and the folder they are in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ftt.data.columns import Columns, need, read_columns
from ftt.data.fetch import sha256_of
from ftt.data.grouped import DatasetInfo, GroupedData
from ftt.data.inputs import ImageFiles
from ftt.data.own import OwnData
from ftt.data.places import Places
from ftt.errors import FttError
from ftt.params import Json, param


@dataclass(frozen=True)
class Manifest(OwnData):
    """Images listed in a table; paths are relative to `image_root` (default: the folder of the table)."""

    name: ClassVar[str] = "manifest"
    info: ClassVar[DatasetInfo] = DatasetInfo(
        name="manifest",
        classes=(),
        attributes=(),
        summary="your images: a CSV or Parquet list with path, y, attribute, split",
        how_to_get="ftt run manifest --path list.csv --image-root images",
    )

    image_root: str | None = param(None, help="folder the image paths start from")
    image: str = param("path", help="column of the image path")
    size: int = param(224, help="pixels: the shorter side is scaled to this and the centre cut out", low=16)

    def load(self, places: Places) -> GroupedData:
        table = Path(self.path)
        columns = read_columns(table)
        return self.group(columns, ImageFiles(self._paths(table, columns), self.size))

    def content(self) -> Json:
        table = Path(self.path)
        if not table.is_file():
            return None
        # Size and time of the images stand for their content: hashing a million files to name a run is too slow.
        images = [
            [path.stat().st_size, path.stat().st_mtime_ns]
            for path in self._paths(table, read_columns(table))
            if path.is_file()
        ]
        return {"table": sha256_of(table), "images": images}

    def _paths(self, table: Path, columns: Columns) -> list[Path]:
        root = Path(self.image_root) if self.image_root else table.parent
        if not root.is_dir():
            raise FttError("there is no such folder of images", given=root, allowed="a folder", hint="set --image-root")
        paths = []
        for name in need(columns, self.image, table, "image"):
            path = root / str(name)
            if not path.resolve().is_relative_to(root.resolve()):
                raise FttError("an image path leaves the folder", given=name, allowed=f"paths below {root}")
            paths.append(path)
        return paths
