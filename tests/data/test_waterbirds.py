"""Waterbirds: the published counts to the last bird, flips that keep the spurious noise, and what is refused."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.data.layouts import write_waterbirds

from ftt.data import GroupedData, load
from ftt.data.noise import core_noise, spurious_noise
from ftt.data.published import WATERBIRDS, UnexpectedCountsWarning
from ftt.data.waterbirds import Waterbirds
from ftt.errors import FttError

RATES = (0.0, 0.02, 0.04, 0.06, 0.08, 0.10)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("placed")
    write_waterbirds(folder / "waterbirds")
    return folder


def birds(root: Path, **options: object) -> GroupedData:
    return load("waterbirds", root=root, cache=root / "cache", **options)


def noise(data: GroupedData, part: str) -> tuple[float, float]:
    assert data.y_clean is not None
    rows = data.split == part
    return core_noise(data.y[rows], data.y_clean[rows]), spurious_noise(data.y[rows], data.a[rows])


def test_the_counts_are_those_of_the_appendix(root: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnexpectedCountsWarning)
        data = birds(root)
    for part, sizes in WATERBIRDS.items():
        assert data.counts(part).ravel().tolist() == list(sizes)


def test_codes_follow_the_files() -> None:
    assert Waterbirds.info.classes == ("landbird", "waterbird")
    assert Waterbirds.info.attributes == ("land", "water")


@pytest.mark.parametrize("rate", RATES)
def test_the_paper_keeps_the_spurious_noise_at_every_core_noise(root: Path, rate: float) -> None:
    clean, noisy = birds(root), birds(root, core_noise=rate)
    for part in ("train", "val"):
        rows = int((clean.split == part).sum())
        core, spurious = noise(noisy, part)
        assert core == pytest.approx(rate, abs=1 / rows)
        # Halves of an odd number differ by one row, once a label.
        assert abs(spurious - noise(clean, part)[1]) * rows < 1 + 1e-9
    np.testing.assert_array_equal(noisy.y[noisy.split == "test"], clean.y[clean.split == "test"])


def test_ten_percent_takes_all_but_one_of_the_smallest_groups(root: Path) -> None:
    data = birds(root, core_noise=0.1)
    flipped = data.flipped["core"] & (data.split == "train")
    assert data.y_clean is not None
    taken = [int((flipped & (data.y_clean == y) & (data.a == a)).sum()) for y, a in ((0, 1), (1, 0))]
    assert taken == [184, 55]


def test_more_than_the_smallest_groups_can_give_is_refused_with_the_reason(root: Path) -> None:
    with pytest.raises(FttError) as caught:
        birds(root, core_noise=0.12)
    assert "is not possible without changing the spurious noise" in str(caught.value)
    assert "it has 184" in str(caught.value)


def test_the_released_policy_differs_on_val_only(root: Path) -> None:
    paper, released = birds(root, core_noise=0.1), birds(root, core_noise=0.1, flip="released")
    train = paper.split == "train"
    np.testing.assert_array_equal(paper.y[train], released.y[train])
    flipped = released.flipped["core"] & (released.split == "val")
    assert released.y_clean is not None
    by_group = [int((flipped & (released.y_clean == y) & (released.a == a)).sum()) for y in (0, 1) for a in (0, 1)]
    assert by_group == [46, 47, 13, 14]


def test_the_seed_chooses_the_flips(root: Path) -> None:
    first, again, other = (birds(root, core_noise=0.1, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.y, again.y)
    assert (first.y != other.y).any()


def test_the_folder_may_have_the_name_of_the_archive(root: Path, tmp_path: Path) -> None:
    (tmp_path / "waterbird_complete95_forest2water2").symlink_to(root / "waterbirds")
    assert birds(tmp_path).counts("train").ravel().tolist() == list(WATERBIRDS["train"])


def test_a_table_with_a_row_less_is_loaded_with_a_warning(root: Path, tmp_path: Path) -> None:
    (tmp_path / "waterbirds").mkdir()
    for entry in (root / "waterbirds").iterdir():
        if entry.is_dir():
            (tmp_path / "waterbirds" / entry.name).symlink_to(entry)
    lines = (root / "waterbirds" / "metadata.csv").read_text().splitlines()
    (tmp_path / "waterbirds" / "metadata.csv").write_text("\n".join(lines[:-1]) + "\n")
    with pytest.warns(UnexpectedCountsWarning, match="waterbirds"):
        assert len(birds(tmp_path)) == 11787


SMALL = {"train": (2, 2, 2, 2), "val": (1, 1, 1, 1), "test": (1, 1, 1, 1)}


@pytest.mark.filterwarnings("ignore::ftt.data.published.UnexpectedCountsWarning")
def test_images_are_read_at_the_wanted_size(tmp_path: Path) -> None:
    write_waterbirds(tmp_path / "waterbirds", SMALL)
    data = birds(tmp_path, size=16)
    assert data["test"].inputs.read(np.array([0, 3])).shape == (2, 16, 16, 3)
    assert data["train"].ids[0].endswith(".jpg")


@pytest.mark.filterwarnings("ignore::ftt.data.published.UnexpectedCountsWarning")
def test_missing_images_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    folder = write_waterbirds(tmp_path / "waterbirds", SMALL)
    (folder / "003.Species" / "Bird_00002.jpg").unlink()
    with pytest.raises(FttError, match="missing") as caught:
        birds(tmp_path)
    assert "1 of 16, the first is" in str(caught.value)
    assert "Bird_00002.jpg" in str(caught.value)
