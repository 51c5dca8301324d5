"""Whether a folder that the user placed is the published data set: counts of every part, and every image it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ftt.data.dataset import Dataset
from ftt.data.domains import Domains
from ftt.data.files import is_file
from ftt.data.published import FlippedImages, image_root
from ftt.data.roots import Roots
from ftt.errors import FttError
from ftt.params import Json, digest

NAMES = ("waterbirds", "celeba", "pacs", "officehome", "vlcs")


@dataclass(frozen=True)
class PlacedCheck:
    """What was found in a placed folder.

    Attributes
    ----------
    folder : Path
        Where the images are.
    published, found : mapping of str to tuple of int
        Rows of every part: by label and attribute (0, 0), (0, 1), (1, 0), (1, 1) of a split, or images of a domain.
    images : int
        Images that the data set names.
    missing : tuple of str
        Those of them that are not there.
    content : str, optional
        Hash over the content of table and images: equal for equal copies. None where a part is missing altogether.
    """

    name: str
    folder: Path
    published: Mapping[str, tuple[int, ...]]
    found: Mapping[str, tuple[int, ...]]
    images: int
    missing: tuple[str, ...]
    content: str | None

    @property
    def complete(self) -> bool:
        """Whether all parts have the published numbers of rows and every image is there."""
        return dict(self.published) == dict(self.found) and not self.missing

    def to_json(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "folder": str(self.folder),
            "complete": self.complete,
            "published": {part: list(row) for part, row in self.published.items()},
            "found": {part: list(row) for part, row in self.found.items()},
            "images": self.images,
            "missing": list(self.missing),
            "content": self.content,
        }

    def lines(self) -> list[str]:
        """As sentences: every part, what is missing, and what to compare copies by."""
        lines = [f"{self.name}: {self.folder}"]
        for part in dict.fromkeys((*self.published, *self.found)):
            expected, there = (
                " / ".join(map(str, table.get(part, ()))) or "none" for table in (self.published, self.found)
            )
            lines.append(f"  {part:<14}{there:<30}{'as published' if there == expected else f'published: {expected}'}")
        if self.missing:
            shown = ", ".join(self.missing[:3]) + (", …" if len(self.missing) > 3 else "")
            lines.append(f"  {len(self.missing):,} of {self.images:,} images are missing: {shown}")
        else:
            lines.append(f"  all {self.images:,} images are there")
        if self.content is not None:
            lines.append(f"  content: {self.content}")
        lines.append("  complete" if self.complete else "  not the published data set: results will not be comparable")
        return lines


def check_placed(source: Dataset, roots: Roots) -> PlacedCheck:
    """Compare the placed folder of a data set with its publication, without decoding any image."""
    if isinstance(source, FlippedImages):
        rows, published, folders = source.rows(roots)
        names, found = rows.names.tolist(), rows.counts()
        folder = image_root(folders, names)
        missing = tuple(name for name in names if not is_file(folder / name))
    elif isinstance(source, Domains):
        folder, found, names = source.inventory(roots)
        published, missing = {domain.name: (domain.images,) for domain in source.domains}, ()
    else:
        raise FttError(f"{source.name!r} is not a data set that you place", given=source.name, allowed=", ".join(NAMES))
    content = digest(source.content(roots)) if found.keys() >= published.keys() else None
    return PlacedCheck(source.name, folder, published, found, len(names), missing, content)
