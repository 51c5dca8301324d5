"""Folders of images: label, attribute and split from their names; anything else is refused in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.data.hearing import Heard, shown_on

from ftt.data import Roots
from ftt.data.folders import Folder
from ftt.errors import FttError


def put(path: Path, red: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (20, 20), (red, 0, 0)).save(path)
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """cow and camel on grass and sand, in three splits; the red of an image is the number of its file."""
    number = 0
    for split in ("train", "valid", "Test"):
        for label in ("cow", "camel"):
            for attribute in ("grass", "sand"):
                for _ in range(3):
                    put(tmp_path / "root" / split / label / attribute / f"{number}.png", number)
                    number += 1
    return tmp_path / "root"


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    return Roots(tmp_path / "cache", None)


def test_folders_of_split_label_attribute_are_recognised(root: Path, roots: Roots) -> None:
    heard = Heard()
    with shown_on(heard):
        data = Folder(path=str(root), size=16).load(roots)
    assert any("36 images in folders of <split>/<label>/<attribute>" in line for line in heard.lines)
    assert (data.info.classes, data.info.attributes) == (("camel", "cow"), ("grass", "sand"))
    assert [data.counts(name).tolist() for name in ("train", "val", "test")] == [[[3, 3], [3, 3]]] * 3
    assert data.ids is not None
    for row, name in enumerate(data.ids):
        split, label, attribute, file = str(name).split("/")
        assert data.split[row] == {"train": "train", "valid": "val", "Test": "test"}[split]
        assert (data.info.classes[data.y[row]], data.info.attributes[data.a[row]]) == (label, attribute)
        assert data.inputs.read(np.array([row]))[0, 0, 0, 0] == int(file.removesuffix(".png"))


def test_without_folders_of_splits_these_are_made(root: Path, roots: Roots) -> None:
    heard = Heard()
    with shown_on(heard):
        data = Folder(path=str(root / "train"), size=16).load(roots)
    assert any("folders of <label>/<attribute>" in line for line in heard.lines)
    assert any("train 4, val 4, test 4" in line for line in heard.lines)
    assert data.counts("val").tolist() == [[1, 1], [1, 1]]


def test_files_that_are_no_images_and_hidden_ones_are_passed_over(root: Path, roots: Roots) -> None:
    (root / "train" / "notes.txt").write_text("hello")
    put(root / "train" / ".trash" / "sand" / "x.png")
    put(root / "train" / "cow" / "sand" / ".hidden.png")
    assert len(Folder(path=str(root), size=16).load(roots)) == 36


def test_broken_image_is_left_out_with_its_label(root: Path, roots: Roots) -> None:
    (root / "train" / "cow" / "grass" / "0.png").write_bytes(b"")
    with pytest.raises(FttError, match=r"0\.png \(the file is empty\)"):
        Folder(path=str(root), size=16).load(roots).inputs.read(np.arange(1))
    data = Folder(path=str(root), size=16, skip_broken=True).load(roots)
    assert data.counts("train").tolist() == [[3, 3], [2, 3]]
    assert data.ids is not None
    assert "train/cow/grass/0.png" not in data.ids
    assert len(data.inputs.read(np.arange(35))) == 35


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ("stray.png", "stray.png, one of 1"),
        ("train/cow/stray.png", "stray.png, one of 1"),
        ("train/cow/sand/deep/stray.png", "stray.png, one of 1"),
        ("holdout/cow/sand/stray.png", "others: holdout"),
    ],
)
def test_image_in_another_place_is_refused_by_name(odd: str, words: str, root: Path, roots: Roots) -> None:
    put(root / odd)
    with pytest.raises(FttError) as caught:
        Folder(path=str(root)).load(roots)
    assert words in str(caught.value)
    assert "<label>/<attribute>/<image>" in str(caught.value)


def test_missing_level_of_the_attribute_is_told(root: Path, roots: Roots, tmp_path: Path) -> None:
    for label in ("cow", "camel"):
        put(tmp_path / "flat" / label / "x.png")
    with pytest.raises(FttError, match="a level is missing"):
        Folder(path=str(tmp_path / "flat")).load(roots)


def test_folder_that_is_empty_missing_or_a_link_is_refused(root: Path, roots: Roots, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(FttError, match="no images"):
        Folder(path=str(tmp_path / "empty")).load(roots)
    with pytest.raises(FttError, match="no such folder"):
        Folder(path=str(tmp_path / "nothing")).load(roots)
    (root / "test").symlink_to(root / "train")
    with pytest.raises(FttError, match="a folder is a link"):
        Folder(path=str(root)).load(roots)


def test_one_attribute_value_is_refused(roots: Roots, tmp_path: Path) -> None:
    for label in ("cow", "camel"):
        put(tmp_path / "one" / label / "grass" / "x.png")
    with pytest.raises(FttError, match="one value only"):
        Folder(path=str(tmp_path / "one")).load(roots)
