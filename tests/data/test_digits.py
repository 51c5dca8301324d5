"""Digits: exact noise, a balanced clean target, and no image in two splits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import ftt
from ftt.data import ArrayInputs, GroupedData


@pytest.fixture(scope="module")
def noisy() -> GroupedData:
    return ftt.load("digits", core_noise=0.2, spurious_noise=0.1, seed=3)


def halves(data: GroupedData, split: str) -> tuple[set[bytes], set[bytes]]:
    """Upper and lower images of a split by their bytes."""
    images = images_of(data)[data.split == split]
    return {image[:8].tobytes() for image in images}, {image[8:].tobytes() for image in images}


def images_of(data: GroupedData) -> npt.NDArray[np.uint8]:
    assert isinstance(data.inputs, ArrayInputs)
    return data.inputs.array


def test_sizes_and_shape_are_as_published(noisy: GroupedData) -> None:
    assert {name: int((noisy.split == name).sum()) for name in ("train", "val", "test")} == {
        "train": 640,
        "val": 360,
        "test": 400,
    }
    assert images_of(noisy).shape == (1400, 16, 8, 1)
    assert images_of(noisy).dtype == np.uint8


def test_train_and_val_have_the_exact_core_noise_and_train_the_exact_spurious_noise(noisy: GroupedData) -> None:
    assert noisy.y_clean is not None
    wrong = noisy.y != noisy.y_clean
    assert wrong[noisy.split == "train"].sum() == 128
    assert wrong[noisy.split == "val"].sum() == 72
    assert (noisy.y != noisy.a)[noisy.split == "train"].sum() == 64
    assert (noisy.flipped["core"] == wrong).all()
    assert (noisy.flipped["spurious"][noisy.split == "train"] == (noisy.y != noisy.a)[noisy.split == "train"]).all()


def test_test_labels_are_clean(noisy: GroupedData) -> None:
    assert noisy.y_clean is not None
    assert (noisy.y == noisy.y_clean)[noisy.split == "test"].all()


@pytest.mark.parametrize(("split", "quarter"), [("val", 90), ("test", 100)])
def test_target_splits_hold_equally_many_of_every_true_class_and_attribute(
    noisy: GroupedData, split: str, quarter: int
) -> None:
    assert noisy.y_clean is not None
    rows = noisy.split == split
    for label in (0, 1):
        for value in (0, 1):
            assert ((noisy.y_clean == label) & (noisy.a == value) & rows).sum() == quarter


def test_no_image_is_in_two_splits(noisy: GroupedData) -> None:
    parts = [halves(noisy, name) for name in ("train", "val", "test")]
    for one in range(3):
        for other in range(one):
            assert not parts[one][0] & parts[other][0]
            assert not parts[one][1] & parts[other][1]


def test_no_upper_image_is_used_twice(noisy: GroupedData) -> None:
    assert [len(halves(noisy, name)[0]) for name in ("train", "val", "test")] == [640, 360, 400]


def test_upper_picture_is_of_the_clean_label_and_lower_picture_of_the_attribute() -> None:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    pixels = np.rint(bunch.images * (255 / 16)).astype(np.uint8)
    digit = {image.tobytes(): int(label) for image, label in zip(pixels, bunch.target, strict=True)}
    data = ftt.load("digits", core_noise=0.3, spurious_noise=0.3, seed=1)
    assert data.y_clean is not None
    images = images_of(data)[..., 0]
    assert [digit[np.ascontiguousarray(image[:8]).tobytes()] % 2 for image in images] == data.y_clean.tolist()
    assert [digit[np.ascontiguousarray(image[8:]).tobytes()] for image in images] == data.a.tolist()


def test_same_seed_gives_the_same_data_and_another_seed_another() -> None:
    prints = [ftt.load("digits", core_noise=0.2, seed=seed) for seed in (0, 0, 1)]
    assert prints[0].inputs.fingerprint() == prints[1].inputs.fingerprint() != prints[2].inputs.fingerprint()
    assert (prints[0].y == prints[1].y).all()
