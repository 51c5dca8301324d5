"""The contact sheet: images of every group where their caption says, and only of the split that was asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ftt.data import ArrayInputs, DatasetInfo, GroupedData, Roots
from ftt.data.contact_sheet import GAP, LINE, TILE, contact_sheet, examples, save_sheet, text_examples
from ftt.data.decoded import image_inputs
from ftt.data.texts import Texts
from ftt.errors import FttError

INFO = DatasetInfo("small", ("cow", "camel"), ("grass", "sand", "snow"), "a colour for every group")


def coloured(n: int = 360) -> GroupedData:
    """Images of one colour: red is the label, green the attribute, blue the split; no camel on snow."""
    rng = np.random.default_rng(0)
    y, a = rng.integers(0, 2, n), rng.integers(0, 3, n)
    a = np.where((y == 1) & (a == 2), 0, a)
    split = np.resize(["train", "val", "test"], n)
    colour = np.stack([60 + 120 * y, 60 + 60 * a, np.resize([10, 130, 250], n)], axis=1).astype(np.uint8)
    images = np.broadcast_to(colour[:, None, None], (n, 20, 20, 3)).copy()
    return GroupedData(ArrayInputs(images, "images"), y, a, split, INFO)


@pytest.mark.parametrize(("split", "blue"), [("train", 10), ("val", 130)])
def test_every_tile_is_of_its_group_and_split(split: str, blue: int) -> None:
    each = 4
    sheet = np.asarray(contact_sheet(coloured(), split, each))
    for label in range(2):
        for value in range(3):
            for place in range(each):
                left = GAP + value * (each * (TILE + GAP) + 2 * GAP) + place * (TILE + GAP)
                top = 2 * LINE + label * (TILE + 2 * LINE + 2 * GAP) + 2 * LINE
                middle = sheet[top + TILE // 2, left + TILE // 2].tolist()
                empty = (label, value) == (1, 2)
                assert middle == ([255] * 3 if empty else [60 + 120 * label, 60 + 60 * value, blue])


def test_choice_hangs_on_the_seed_alone_and_never_repeats_a_row() -> None:
    data = coloured()
    first, second, other = (examples(data, "train", 3, seed) for seed in (0, 0, 1))
    assert all((first[group] == second[group]).all() for group in first)
    assert any((first[group] != other[group]).any() for group in first if first[group].size)
    assert all(len(set(rows.tolist())) == len(rows) <= 3 for rows in first.values())


def test_group_with_fewer_rows_than_asked_for_shows_what_it_has() -> None:
    chosen = examples(coloured(12), "val", 50, 0)
    assert sum(len(rows) for rows in chosen.values()) == 4


@pytest.mark.parametrize("shape", [(16, 8, 1), (300, 200, 3)])
def test_grey_small_and_large_images_keep_their_proportions(shape: tuple[int, ...], tmp_path: Path) -> None:
    data = coloured(24)
    images = ArrayInputs(np.zeros((24, *shape), dtype=np.uint8), "images")
    black = GroupedData(images, data.y, data.a, data.split, INFO)
    path = save_sheet(contact_sheet(black, each=1), tmp_path / "new" / "sheet.png")
    with Image.open(path) as opened:
        sheet = np.asarray(opened.convert("L"))
    tile = sheet[4 * LINE : 4 * LINE + TILE, GAP : GAP + TILE]
    dark = tile < 128
    assert dark.any(axis=1).sum() == TILE
    assert dark.any(axis=0).sum() == round(TILE * shape[1] / shape[0])


def test_drawing_a_few_images_does_not_decode_all(tmp_path: Path) -> None:
    data = coloured(24)
    paths = [tmp_path / f"{row}.png" for row in range(24)]
    for row, path in enumerate(paths):
        Image.fromarray(data.inputs.read(np.array([row]))[0]).save(path)
    files = image_inputs(paths, 20, Roots(tmp_path / "cache", None))
    drawn = contact_sheet(GroupedData(files, data.y, data.a, data.split, INFO), each=2)
    np.testing.assert_array_equal(np.asarray(drawn), np.asarray(contact_sheet(data, each=2)))
    assert not (tmp_path / "cache").exists()


def test_texts_are_quoted_on_one_line_and_cannot_be_drawn() -> None:
    data = coloured(24)
    texts = GroupedData(Texts([f"text\n {row}" for row in range(24)]), data.y, data.a, data.split, INFO)
    quoted = text_examples(texts, "train", each=2)
    assert [(group["label"], group["attribute"]) for group in quoted[:2]] == [("cow", "grass"), ("cow", "sand")]
    assert quoted[5]["texts"] == []
    for group in quoted:
        for text in group["texts"]:
            row = int(text.removeprefix("text "))
            assert data.split[row] == "train"
            assert INFO.classes[data.y[row]] == group["label"]
    with pytest.raises(FttError, match="only images can be drawn"):
        contact_sheet(texts)
