"""Placed folders whose tables are damaged or hostile: each case is refused in words, none hangs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.data.layouts import grouped_rows, write_celeba_lists, write_domains, write_waterbirds

from ftt.data import Dataset, Roots
from ftt.data.celeba import CelebA
from ftt.data.domains import PACS
from ftt.data.waterbirds import Waterbirds
from ftt.errors import FttError

FEW = {"train": (3, 2, 2, 3), "val": (1, 1, 1, 1), "test": (1, 1, 1, 1)}
Damage = Callable[[Path], Any]
pytestmark = pytest.mark.filterwarnings("ignore::ftt.data.published.UnexpectedCountsWarning")


def replaced(name: str, old: str, new: str) -> Damage:
    """Replace the first `old` of a file."""
    return lambda root: (root / name).write_text((root / name).read_text().replace(old, new, 1))


def written(name: str, content: bytes) -> Damage:
    return lambda root: (root / name).write_bytes(content)


def piped(name: str) -> Damage:
    def make(root: Path) -> None:
        (root / name).unlink()
        os.mkfifo(root / name)

    return make


FIRST = "001.Species/Bird_00000.jpg"
WATERBIRDS: dict[str, tuple[Damage, str]] = {
    "label that is text": (replaced("metadata.csv", f"{FIRST},", f"{FIRST},x"), "not that of the publication"),
    "label of 7": (replaced("metadata.csv", f"{FIRST},", f"{FIRST},7"), "in row 0"),
    "no columns": (written("metadata.csv", b"a,b\n1,2\n"), "img_filename"),
    "no bytes": (written("metadata.csv", b""), "metadata.csv cannot be read"),
    "absolute image": (replaced("metadata.csv", FIRST, "/etc/passwd"), "row 0: /etc/passwd"),
    "image upwards": (replaced("metadata.csv", FIRST, "../x.jpg"), "row 0: ../x.jpg"),
    "image that is missing": (lambda root: (root / FIRST).unlink(), "1 of 18"),
    "image that is a pipe": (piped(FIRST), "1 of 18"),
    "NUL in a name": (replaced("metadata.csv", FIRST, "a\0b.jpg"), "row 0"),
    "name of 3,000 characters": (replaced("metadata.csv", FIRST, "x" * 3000), "1 of 18"),
}


@pytest.mark.parametrize("case", WATERBIRDS)
def test_bad_waterbirds_are_refused_in_words(case: str, tmp_path: Path) -> None:
    damage, words = WATERBIRDS[case]
    damage(write_waterbirds(tmp_path / "waterbirds", FEW))
    _refused(Waterbirds(), tmp_path, words)


ATTRIBUTES, PARTITION = "list_attr_celeba.txt", "list_eval_partition.txt"
CELEBA: dict[str, tuple[Damage, str]] = {
    "empty list": (written(ATTRIBUTES, b""), "cannot be read"),
    "list of one line": (written(ATTRIBUTES, b"18"), "cannot be read"),
    "header that is not UTF-8": (written(ATTRIBUTES, b"18\n\xff\xfe\nx 1\n"), "cannot be read"),
    "list without its columns": (written(ATTRIBUTES, b"1\nSmiling\nx.jpg 1\n"), "same images"),
    "values that are text": (replaced(ATTRIBUTES, "000001.jpg -1", "000001.jpg no -1 -1 #"), "list_attr_celeba.txt"),
    "partition of other images": (replaced(PARTITION, "000001.jpg", "other.jpg"), "same images"),
    "partition missing": (lambda root: (root / PARTITION).unlink(), "a list of CelebA is missing"),
    "partition that is a pipe": (piped(PARTITION), "a list of CelebA is missing"),
    "partition of 7": (replaced(PARTITION, "000001.jpg ", "000001.jpg 7"), "split"),
}


@pytest.mark.parametrize("case", CELEBA)
def test_bad_celeba_is_refused_in_words(case: str, tmp_path: Path) -> None:
    damage, words = CELEBA[case]
    write_celeba_lists(tmp_path / "celeba", grouped_rows(FEW), "txt")
    damage(tmp_path / "celeba")
    _refused(CelebA(subsample=False), tmp_path, words)


DOMAINS: dict[str, tuple[Damage, str]] = {
    "class of another name": (lambda root: (root / "photo" / "dog").rename(root / "photo" / "cat"), "called 'cat'"),
    "domain missing": (lambda root: (root / "photo").rename(root / "other"), "'photo' of 'pacs' is missing"),
    "domain that is a file": (lambda root: _file_for_folder(root / "photo"), "'photo' of 'pacs' is missing"),
    "image that is a pipe": (lambda root: os.mkfifo(root / "photo" / "dog" / "p.jpg"), "a named pipe"),
}


def _file_for_folder(folder: Path) -> None:
    folder.rename(folder.parent / "aside")
    folder.write_text("x")


@pytest.mark.parametrize("case", DOMAINS)
def test_bad_domains_are_refused_in_words(case: str, tmp_path: Path) -> None:
    damage, words = DOMAINS[case]
    damage(write_domains(tmp_path / "PACS", PACS, divide=200))
    _refused(PACS(size=16), tmp_path, words)


def _refused(data: Dataset, root: Path, words: str) -> None:
    with pytest.raises(FttError) as caught:
        data.load(Roots(root / "cache", root)).inputs.read(np.arange(1))
    assert words in str(caught.value)
