"""Your own images without a list: folder names give the label, the attribute and optionally the split."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import ClassVar

import numpy as np
from PIL import Image

from ftt.data.checksums import Checksums
from ftt.data.columns import SPLIT_NAMES
from ftt.data.decoded import image_inputs
from ftt.data.files import is_folder, printable
from ftt.data.grouped import DatasetInfo, GroupedData
from ftt.data.own import OwnData
from ftt.data.pixels import FORMATS
from ftt.data.roots import Roots
from ftt.errors import FttError
from ftt.params import Json, param
from ftt.progress import say

WITH_SPLIT = "<split>/<label>/<attribute>/<image>"
WITHOUT_SPLIT = "<label>/<attribute>/<image>"


@dataclass(frozen=True)
class Folder(OwnData):
    """Images in folders: ``<split>/<label>/<attribute>/<image>``, or without the split, which is then made."""

    name: ClassVar[str] = "folder"
    info: ClassVar[DatasetInfo] = DatasetInfo(
        name="folder",
        classes=(),
        attributes=(),
        summary=f"your images: a folder of {WITH_SPLIT} or {WITHOUT_SPLIT}",
        how_to_get="ftt run folder --path images",
    )

    path: str = param(help=f"folder of {WITH_SPLIT} or {WITHOUT_SPLIT}")
    size: int = param(224, help="image size in pixels (shorter side, then centre crop)", low=16, high=4096)
    skip_broken: bool = param(False, help="leave out images that cannot be decoded and report their number")

    def load(self, roots: Roots) -> GroupedData:
        root = Path(self.path)
        names = find_images(root)
        depth = recognise(root, names)
        say(f"{root}: {len(names):,} images in folders of {WITH_SPLIT if depth == 4 else WITHOUT_SPLIT}")
        images = image_inputs([root / name for name in names], self.size, roots)
        if self.skip_broken:
            rows = images.whole_rows()
            images, names = images.take(rows), [names[row] for row in rows]
        parts = np.array([name.parts for name in names]).reshape(-1, depth)
        return self.assemble(
            images,
            label=parts[:, -3],
            attribute=parts[:, -2],
            split=parts[:, 0] if depth == 4 else None,
            ids=np.array([name.as_posix() for name in names]),
            names=("folders of the label", "folders of the attribute"),
        )

    def content(self, roots: Roots) -> Json:
        root = Path(self.path)
        if not is_folder(root):
            return None
        return Checksums(roots).manifest(root, [name.as_posix() for name in find_images(root)])


def find_images(root: Path) -> list[PurePath]:
    """Relative paths of the image files below a folder, sorted; hidden files and folders are skipped."""
    if not is_folder(root):
        raise FttError(
            "there is no such folder", given=printable(root), allowed=f"a folder of {WITH_SPLIT} or {WITHOUT_SPLIT}"
        )
    suffixes = {suffix for suffix, kind in Image.registered_extensions().items() if kind in FORMATS}
    found: list[PurePath] = []
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        if linked := [name for name in subfolders if (Path(folder) / name).is_symlink()]:
            # Following it could put one image into two splits, skipping it would lose images without a word.
            raise _refuse("a folder is a link", f"{Path(folder) / linked[0]}", "give its target as --path, or copy it")
        below = PurePath(folder).relative_to(root)
        found += [
            below / file for file in files if not file.startswith(".") and PurePath(file).suffix.lower() in suffixes
        ]
    _refuse_links(root, found)
    return sorted(found)


def _refuse_links(root: Path, names: list[PurePath]) -> None:
    """Refuse links that leave the folder, two names of one file, and names that are not UTF-8."""
    inside, targets = Path(os.path.realpath(root)), dict[Path, PurePath]()
    for name in names:
        try:
            str(name).encode()
        except UnicodeEncodeError:
            raise _refuse("the name of an image is not UTF-8", str(name), "rename it") from None
        place = inside / name
        if place.is_symlink():
            place = Path(os.path.realpath(place))
            if not place.is_relative_to(inside):
                raise _refuse("an image is a link to a place outside the folder", f"{name} -> {place}", "copy it")
        if place in targets:
            raise _refuse(
                "two names lead to one image, so that it could be in two splits at once",
                f"{targets[place]} and {name}",
                "remove the link",
            )
        targets[place] = name


def recognise(root: Path, names: list[PurePath]) -> int:
    """4 with splits, 3 without; anything else is refused with the first file that does not fit."""
    if not names:
        raise _refuse("there are no images in this folder", f"{root}: no files with the extension of an image")
    tops = {name.parts[0] for name in names if len(name.parts) > 1}
    splits = {top for top in tops if top.lower() in SPLIT_NAMES}
    if splits and tops - splits:
        raise _refuse(
            "some folders are named like splits and others are not",
            f"splits: {', '.join(sorted(splits))}; others: {', '.join(sorted(tops - splits)[:5])}",
        )
    depth = 4 if splits else 3
    odd = [name for name in names if len(name.parts) != depth]
    if odd:
        hint = None
        if len(odd) == len(names) and all(len(name.parts) == depth - 1 for name in odd):
            hint = "a level is missing: without folders of the attribute there are no groups; or write a list, see: "
            hint += "ftt data show manifest"
        raise _refuse(
            "label and attribute of an image cannot be read from its folders",
            f"{odd[0]}, one of {len(odd)} such images of {len(names)}",
            hint,
        )
    return depth


def _refuse(problem: str, given: str, hint: str | None = None) -> FttError:
    return FttError(problem, given=printable(given), allowed=f"{WITH_SPLIT} or {WITHOUT_SPLIT}", hint=hint)
