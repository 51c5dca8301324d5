"""CelebA: blond hair and gender of celebrities, sub-sampled as in the paper."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ftt.data.columns import Columns, need, parse_split, read_columns
from ftt.data.files import read_regular
from ftt.data.grouped import SPLITS, DatasetInfo
from ftt.data.published import CELEBA, CELEBA_WHOLE, Counts, FlippedImages, Rows, find_folder
from ftt.data.roots import Roots
from ftt.errors import FttError
from ftt.params import param

FOLDERS = ("celeba", "CelebA", "celebA", "celeba/data", "celebA/data", "celebA_v1.0")
ATTRIBUTES, PARTITION, METADATA = "list_attr_celeba", "list_eval_partition", "metadata.csv"
WANTED = ("image_id", "partition", "Blond_Hair", "Male")
SYNONYMS = {
    "img_filename": ("img_filename", "image_id", "filename"),
    "y": ("y", "Blond_Hair"),
    "place": ("place", "Male"),
    "split": ("split", "partition"),
}
"""What the columns are called by DFR, by JTT and by the original."""


@dataclass(frozen=True)
class CelebA(FlippedImages):
    """Hair that is blond or not (core), of women and men (spurious).

    In the files 42 % of the rows go against the correlation of blond with female. The paper leaves out most women who
    are not blond, in every split, so that men make the same share of label 0 as women of label 1 (94 %): the first
    int(n11 / n10 · n01) rows of group (0, 0) in file order stay. ``subsample=False`` keeps all.
    """

    name: ClassVar[str] = "celeba"
    info: ClassVar[DatasetInfo] = DatasetInfo(
        name="celeba",
        classes=("not blond", "blond"),
        attributes=("female", "male"),
        summary="hair blond or not (core) of women and men (spurious), 95,194 / 11,856 / 10,741 of 202,599 faces",
        licence="for non-commercial research only; may not be redistributed (CUHK agreement)",
        citation="Liu et al., Deep Learning Face Attributes in the Wild, ICCV 2015",
        version="1.0",
        how_to_get="get img_align_celeba.zip, list_attr_celeba.txt and list_eval_partition.txt from its authors "
        "(mmlab.ie.cuhk.edu.hk/projects/CelebA.html), place them unpacked in $FTT_DATA/celeba, and check with: "
        "ftt data show celeba",
    )

    subsample: bool = param(True, help="leave out most women who are not blond, as in the paper")

    @classmethod
    def find(cls, roots: Roots) -> Path:
        layout = f"img_align_celeba/, {ATTRIBUTES}.txt or .csv, {PARTITION}.txt or .csv (or {METADATA} for the two)"
        markers = (METADATA, f"{ATTRIBUTES}.csv", f"{ATTRIBUTES}.txt")
        return find_folder(
            cls.info, roots, FOLDERS, lambda f: any((f / marker).is_file() for marker in markers), layout
        )

    def rows(self, roots: Roots) -> tuple[Rows, Counts, Sequence[Path]]:
        folder = self.find(roots)
        rows = read_metadata(folder) if (folder / METADATA).is_file() else read_lists(folder)
        folders = [folder / "img_align_celeba", folder / "img_align_celeba" / "img_align_celeba", folder]
        return (subsample(rows), CELEBA, folders) if self.subsample else (rows, CELEBA_WHOLE, folders)


def subsample(rows: Rows) -> Rows:
    """Of group (0, 0) the first int(n11 / n10 · n01) rows of every split, in file order; all of the others."""
    keep = np.ones(len(rows.y), dtype=bool)
    for part in SPLITS:
        own = rows.split == part
        n01, n10, n11 = (int((own & (rows.y == y) & (rows.a == a)).sum()) for y, a in ((0, 1), (1, 0), (1, 1)))
        first = np.flatnonzero(own & (rows.y == 0) & (rows.a == 0))
        keep[first[int(n11 / n10 * n01) if n10 else 0 :]] = False
    return rows.keep(keep)


def read_metadata(folder: Path) -> Rows:
    """The one-table form of DFR and JTT."""
    table = folder / METADATA
    columns = read_columns(table)
    picked = {
        name: need(columns, next((word for word in words if word in columns), name), table, "data")
        for name, words in SYNONYMS.items()
    }
    return _rows(picked["img_filename"], picked["y"], picked["place"], picked["split"])


def read_lists(folder: Path) -> Rows:
    """The original form: one list of forty attributes (-1 and 1), one of splits (0, 1, 2)."""
    attributes, partition = (_read_list(folder, stem) for stem in (ATTRIBUTES, PARTITION))
    table = folder / ATTRIBUTES
    names = need(attributes, "image_id", table, "data")
    if not np.array_equal(names, need(partition, "image_id", folder / PARTITION, "data")):
        raise FttError(
            "the two lists of CelebA do not name the same images in the same order",
            given=f"{len(names)} rows of {ATTRIBUTES}, {len(partition['image_id'])} of {PARTITION}",
            allowed="the lists as they were published",
            hint="get both from the same source again",
        )
    return _rows(
        names,
        need(attributes, "Blond_Hair", table, "data"),
        need(attributes, "Male", table, "data"),
        need(partition, "partition", folder / PARTITION, "data"),
    )


def _rows(names: npt.NDArray[Any], blond: npt.NDArray[Any], male: npt.NDArray[Any], split: npt.NDArray[Any]) -> Rows:
    for name, values in (("Blond_Hair", blond), ("Male", male)):
        if values.dtype.kind not in "iub":
            raise FttError(
                f"column {name!r} of CelebA is not that of the publication",
                given=f"type {values.dtype}",
                allowed="-1 (or 0) and 1",
                hint="get the list from its source again",
            )
    # The original lists say -1 for no, their copies also 0.
    paths = np.array(names.tolist(), dtype=str)
    return Rows(paths, (blond > 0).astype(np.int64), (male > 0).astype(np.int64), parse_split(split))


def _read_list(folder: Path, stem: str) -> Columns:
    if (folder / f"{stem}.csv").is_file():
        return read_columns(folder / f"{stem}.csv")
    path = folder / f"{stem}.txt"
    if not path.is_file():
        raise FttError("a list of CelebA is missing", given=path, allowed=f"{stem}.txt or {stem}.csv")
    import pyarrow as pa
    import pyarrow.csv

    raw = read_regular(path)
    # Columns are padded with spaces to look straight; one space each is what a CSV reader takes.
    while b"  " in raw:
        raw = raw.replace(b"  ", b" ")
    raw = raw.replace(b"\r", b"").replace(b" \n", b"\n")
    names = ["image_id", "partition"]
    try:
        if stem == ATTRIBUTES:
            _, header, raw = raw.split(b"\n", 2)
            names = ["image_id", *header.decode().split()]
        table = pyarrow.csv.read_csv(
            io.BytesIO(raw),
            pyarrow.csv.ReadOptions(column_names=names),
            pyarrow.csv.ParseOptions(delimiter=" "),
            pyarrow.csv.ConvertOptions(include_columns=[name for name in names if name in WANTED]),
        )
    except (pa.ArrowException, ValueError) as error:
        raise FttError(
            f"{path.name} cannot be read", given=str(error).splitlines()[0], allowed="the list as it was published"
        ) from None
    return {name: table[name].combine_chunks().to_numpy(zero_copy_only=False) for name in table.column_names}
