"""What data sets published as folders share: where the folder is, whether its counts are the published ones, the flips.

Their licences do not allow redistribution, so they are placed by hand and checked on loading.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ftt.arrays import BoolArray, IntArray
from ftt.data.checksums import Checksums
from ftt.data.columns import Columns, need
from ftt.data.dataset import Dataset, NotPlacedError
from ftt.data.decoded import image_inputs
from ftt.data.files import is_file, printable
from ftt.data.grouped import DatasetInfo, GroupedData
from ftt.data.noise import Policy, flip_by_table
from ftt.data.roots import Roots
from ftt.errors import FttError
from ftt.params import Json, digest, param
from ftt.rng import generator

Counts = Mapping[str, tuple[int, ...]]
"""Numbers of rows by split (or domain); within a split by group, (0, 0), (0, 1), (1, 0), (1, 1)."""

WATERBIRDS: Counts = {"train": (3498, 184, 56, 1057), "val": (467, 466, 133, 133), "test": (2255, 2255, 642, 642)}
CELEBA: Counts = {
    "train": (4053, 66874, 22880, 1387),
    "val": (524, 8276, 2874, 182),
    "test": (546, 7535, 2480, 180),
}
CELEBA_WHOLE: Counts = {
    "train": (71629, 66874, 22880, 1387),
    "val": (8535, 8276, 2874, 182),
    "test": (9767, 7535, 2480, 180),
}
"""CelebA before the paper leaves out most of group (0, 0)."""

FLIPS: Mapping[str, Mapping[str, Policy]] = {
    "keep-spurious": {"train": "keep-spurious", "val": "keep-spurious"},
    "released": {"train": "keep-spurious", "val": "proportional"},
}
"""How labels are flipped, split by split: as the paper says, or as its released code does."""


class UnexpectedCountsWarning(UserWarning):
    """The files are not those of the publication: rows are missing, or there are more."""


def check_counts(name: str, found: Counts, published: Counts) -> None:
    """Warn where a data set has other numbers of rows than its publication, and show both."""
    if {part: tuple(row) for part, row in found.items()} == dict(published):
        return
    shown = [f"{'':<14}{'published':<28}found"]
    for part in dict.fromkeys((*published, *found)):
        expected, there = (" / ".join(map(str, table.get(part, ()))) or "none" for table in (published, found))
        shown.append(f"{part:<14}{expected:<28}{there}{'' if expected == there else '   <-'}")
    warnings.warn(
        f"{name}: the numbers of rows are not the published ones; results will not be comparable\n  "
        + "\n  ".join(shown),
        UnexpectedCountsWarning,
        stacklevel=3,
    )


def find_folder(
    info: DatasetInfo, roots: Roots, names: Sequence[str], holds: Callable[[Path], bool], layout: str
) -> Path:
    """The first placed folder of one of these names that holds what it should."""
    there = roots.placed(*names)
    for folder in there:
        if holds(folder):
            return folder
    if roots.data is None:
        given = "FTT_DATA is not set, so there is no folder to look in"
    elif there:
        given = f"{there[0]}, which holds {', '.join(sorted(f.name for f in there[0].iterdir())[:5]) or 'nothing'}"
    else:
        given = f"no folder {', '.join(str(roots.data / name) for name in names)}"
    raise NotPlacedError(
        f"the files of {info.name!r} are not on this machine",
        given=given,
        allowed=f"a folder {names[0]} in FTT_DATA, holding {layout}",
        hint=info.how_to_get,
    )


def zeros_and_ones(columns: Columns, name: str, table: Path) -> IntArray:
    """A column of a published table that holds 0 and 1 only."""
    values = need(columns, name, table, "data")
    wrong = np.array([value not in (0, 1) for value in values.tolist()], dtype=bool)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise FttError(
            f"column {name!r} of {table.name} is not that of the publication",
            given=f"{printable(values[row])} in row {row}",
            allowed="0 or 1",
            hint="get the table from its source again",
        )
    return values.astype(np.int64)


def image_root(folders: Sequence[Path], names: Sequence[str]) -> Path:
    """The first of these folders that holds the first image."""
    return next((root for root in folders if names and is_file(root / names[0])), folders[0])


def locate_images(folders: Sequence[Path], names: Sequence[str]) -> list[Path]:
    """The images of these relative names, all of them below one folder."""
    for row, name in enumerate(names):
        if name.startswith("/") or ".." in name or "\0" in name:
            raise FttError(
                "an image path leaves the folder",
                given=f"row {row}: {printable(name)}",
                allowed="relative paths below the folder of the data set",
            )
    root = image_root(folders, names)
    paths = [root / name for name in names]
    missing = [path for path in paths if not is_file(path)]
    if missing:
        raise FttError(
            "images of the list are missing",
            given=f"{len(missing)} of {len(names)}, the first is {printable(missing[0])}",
            allowed="every image of the list as a file",
            hint="unpack the whole archive again",
        )
    return paths


@dataclass(frozen=True)
class Rows:
    """What a published table says: one image, label, attribute and split per row."""

    names: npt.NDArray[np.str_]
    y: IntArray
    a: IntArray
    split: npt.NDArray[np.str_]

    def counts(self) -> Counts:
        """(0, 0), (0, 1), (1, 0), (1, 1) of every split."""
        return {
            str(part): tuple(
                np.bincount(2 * self.y[self.split == part] + self.a[self.split == part], minlength=4).tolist()
            )
            for part in dict.fromkeys(self.split)
        }

    def keep(self, mask: BoolArray) -> Rows:
        return Rows(self.names[mask], self.y[mask], self.a[mask], self.split[mask])


@dataclass(frozen=True)
class FlippedImages(Dataset):
    """Images with two labels and two attribute values whose core noise is made by the paper's flip table.

    The spurious noise is what the files have. Labels of train and val are flipped, those of test never.
    """

    core_noise: float = param(
        0.0, help="share of labels flipped in train and val, by the paper's table", low=0, high=0.5
    )
    flip: str = param(
        "keep-spurious",
        help="keep-spurious (paper), or released (validation labels flipped in proportion)",
        choices=tuple(FLIPS),
    )
    seed: int = param(0, help="seed of the flips", low=0)
    size: int = param(224, help="image size in pixels (shorter side, then centre crop)", low=16, high=4096)

    @abstractmethod
    def rows(self, roots: Roots) -> tuple[Rows, Counts, Sequence[Path]]:
        """The clean table, the counts it should have, and the folders its images may be in."""

    def load(self, roots: Roots) -> GroupedData:
        rows, published, folders = self.rows(roots)
        check_counts(self.name, rows.counts(), published)
        flipped = self.flips(rows)
        return GroupedData(
            image_inputs(locate_images(folders, rows.names.tolist()), self.size, roots),
            np.where(flipped, 1 - rows.y, rows.y),
            rows.a,
            rows.split,
            self.info,
            y_clean=rows.y,
            ids=rows.names,
            flipped={"core": flipped},
        )

    def content(self, roots: Roots) -> Json:
        try:
            rows, _, folders = self.rows(roots)
        except NotPlacedError:
            return None
        names = rows.names.tolist()
        table = digest(names, rows.y.tolist(), rows.a.tolist(), rows.split.tolist())
        return {"table": table, "images": Checksums(roots).manifest(image_root(folders, names), names)}

    def flips(self, rows: Rows) -> BoolArray:
        """Mask of the rows whose label is flipped."""
        mask = np.zeros(len(rows.y), dtype=bool)
        rng = generator(self.seed, "flips")
        for part, policy in FLIPS[self.flip].items():
            own = np.flatnonzero(rows.split == part)
            mask[own] = flip_by_table(rows.y[own], rows.a[own], self.core_noise, rng, policy)
        return mask
