"""Writers of the published layouts, with the published numbers of rows and one tiny image under every name."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from ftt.data.domains import Domains
from ftt.data.published import CELEBA_WHOLE, WATERBIRDS, Counts

GROUPS = ((0, 0), (0, 1), (1, 0), (1, 1))
SPLIT_CODES = {"train": 0, "val": 1, "test": 2}
LINKS = 30_000
"""A file has a limited number of names; every so many a new one is written."""


def write_images(paths: Iterable[Path]) -> None:
    """The same tiny JPEG under all these names."""
    first = Path()
    for number, path in enumerate(paths):
        if number % LINKS:
            os.link(first, path)
            continue
        first = path
        Image.new("RGB", (8, 8), (90, 120, 30)).save(path, "JPEG")


def grouped_rows(counts: Counts, seed: int = 0) -> npt.NDArray[np.int64]:
    """(n, 3) label, attribute and split code, as many of each as `counts` says, in random order."""
    rows = [
        (y, a, SPLIT_CODES[part])
        for part, sizes in counts.items()
        for (y, a), size in zip(GROUPS, sizes, strict=True)
        for _ in range(size)
    ]
    return np.random.default_rng(seed).permutation(np.array(rows))


def write_waterbirds(folder: Path, counts: Counts = WATERBIRDS) -> Path:
    """metadata.csv with the official columns, and the images it names in folders of species."""
    rows = grouped_rows(counts)
    names = [f"{n % 200 + 1:03d}.Species/Bird_{n:05d}.jpg" for n in range(len(rows))]
    for species in sorted({name.split("/")[0] for name in names}):
        (folder / species).mkdir(parents=True)
    write_images(folder / name for name in names)
    with (folder / "metadata.csv").open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["img_id", "img_filename", "y", "split", "place", "place_filename"])
        table.writerows(
            (n + 1, name, y, split, a, f"/o/ocean/{n:08d}.jpg")
            for n, (name, (y, a, split)) in enumerate(zip(names, rows.tolist(), strict=True))
        )
    return folder


def celeba_names(n: int) -> list[str]:
    return [f"{number + 1:06d}.jpg" for number in range(n)]


def write_celeba_lists(folder: Path, rows: npt.NDArray[np.int64], form: str) -> None:
    """The two original lists (``txt``, padded with spaces), their ``csv`` copies, or one ``metadata`` table."""
    folder.mkdir(parents=True, exist_ok=True)
    names = celeba_names(len(rows))
    if form == "metadata":
        body = [f"{name},{y},{a},{s}" for name, (y, a, s) in zip(names, rows.tolist(), strict=True)]
        (folder / "metadata.csv").write_text("\n".join(["img_filename,y,place,split", *body]) + "\n")
        return
    values = [(name, -1, 2 * y - 1, 2 * a - 1, s) for name, (y, a, s) in zip(names, rows.tolist(), strict=True)]
    header = ["5_o_Clock_Shadow", "Blond_Hair", "Male"]
    if form == "csv":
        lines = [",".join(["image_id", *header]), *(f"{n},{x},{y},{a}" for n, x, y, a, _ in values)]
        splits = ["image_id,partition", *(f"{n},{s}" for n, *_, s in values)]
    else:
        lines = [str(len(values)), " ".join(header) + " ", *(f"{n} {x:2d} {y:2d} {a:2d}" for n, x, y, a, _ in values)]
        splits = [f"{n} {s}" for n, *_, s in values]
    (folder / f"list_attr_celeba.{form}").write_text("\n".join(lines) + "\n")
    (folder / f"list_eval_partition.{form}").write_text("\n".join(splits) + "\n")


def kept_by_hand(rows: npt.NDArray[np.int64]) -> list[int]:
    """Rows the paper keeps of CelebA, counted one by one: women who are not blond until their share is reached."""
    quota = {0: 4053, 1: 524, 2: 546}
    kept = []
    for number, (y, a, split) in enumerate(rows.tolist()):
        if (y, a) == (0, 0):
            quota[split] -= 1
            if quota[split] < 0:
                continue
        kept.append(number)
    return kept


def write_celeba(folder: Path, counts: Counts = CELEBA_WHOLE) -> Path:
    """The original lists of all faces, and the images of those that the paper keeps."""
    rows = grouped_rows(counts)
    write_celeba_lists(folder, rows, "txt")
    (folder / "img_align_celeba").mkdir()
    names = celeba_names(len(rows))
    write_images(folder / "img_align_celeba" / names[row] for row in kept_by_hand(rows))
    return folder


def write_domains(
    root: Path,
    source: type[Domains],
    *,
    folders: Mapping[str, str] | None = None,
    parts: Sequence[str] = ("",),
    numbered: bool = False,
    divide: int = 1,
) -> Path:
    """A folder a domain, in it the `parts`, in each a folder a class; images dealt out evenly.

    `divide` makes every domain so many times smaller; `parts` such as ``train`` and ``test`` share its images.
    """
    classes = [str(code) if numbered else name for code, name in enumerate(source.info.classes)]
    targets = []
    for domain in source.domains:
        base = root / (folders or {}).get(domain.name, domain.name)
        slots = [base / part / name for part in parts for name in classes]
        for slot in slots:
            slot.mkdir(parents=True)
        targets += [slots[n % len(slots)] / f"pic_{n:05d}.jpg" for n in range(domain.images // divide)]
    write_images(targets)
    return root
