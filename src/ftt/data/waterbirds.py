"""Waterbirds: birds of CUB on backgrounds of Places, the training birds mostly where they belong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from ftt.data.columns import need, parse_split, read_columns
from ftt.data.grouped import DatasetInfo
from ftt.data.published import WATERBIRDS, Counts, FlippedImages, Rows, find_folder, zeros_and_ones
from ftt.data.roots import Roots

OFFICIAL = "waterbird_complete95_forest2water2"
FOLDERS = ("waterbirds", OFFICIAL, f"waterbirds/{OFFICIAL}", "waterbirds_v1.0")


@dataclass(frozen=True)
class Waterbirds(FlippedImages):
    """Landbird or waterbird (core) before land or water (spurious).

    Codes follow the files: y = 1 is a waterbird, place = 1 is water. The paper's text says the reverse; its counts say
    the same as the files. Before noise 5 % of the training birds are elsewhere than they belong, half of the others.
    """

    name: ClassVar[str] = "waterbirds"
    info: ClassVar[DatasetInfo] = DatasetInfo(
        name="waterbirds",
        classes=("landbird", "waterbird"),
        attributes=("land", "water"),
        summary="landbirds/waterbirds (core) before land/water (spurious), 4,795 / 1,199 / 5,794 images",
        licence="made of CUB-200-2011 and Places: for non-commercial research; may not be redistributed",
        citation="Sagawa et al., Distributionally Robust Neural Networks for Group Shifts, ICLR 2020",
        version="1.0",
        how_to_get=f"get {OFFICIAL}.tar.gz from the group_DRO repository of its authors, unpack it as "
        "$FTT_DATA/waterbirds, and check it with: ftt data show waterbirds",
    )

    @classmethod
    def find(cls, roots: Roots) -> Path:
        layout = "metadata.csv (img_filename, y, place, split) and the folders of images it names"
        return find_folder(cls.info, roots, FOLDERS, lambda f: (f / "metadata.csv").is_file(), layout)

    def rows(self, roots: Roots) -> tuple[Rows, Counts, Sequence[Path]]:
        folder = self.find(roots)
        table = folder / "metadata.csv"
        columns = read_columns(table)
        rows = Rows(
            np.array(need(columns, "img_filename", table, "data").tolist(), dtype=str),
            zeros_and_ones(columns, "y", table),
            zeros_and_ones(columns, "place", table),
            parse_split(need(columns, "split", table, "data")),
        )
        return rows, WATERBIRDS, (folder,)
