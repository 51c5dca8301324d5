"""SpuCo's MNIST has the rates, group sizes and difficulties that its authors publish."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ftt import api
from ftt.arrays import IntArray
from ftt.data import GroupedData, Roots
from ftt.data import spuco_mnist as module
from ftt.data.spuco_mnist import CLASSES, COLOURS, POINTS, WHERE, SpuCoMNIST, on_colours, tear
from ftt.errors import FttError

K = len(CLASSES)


@pytest.fixture
def roots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Roots:
    """A small stand-in for MNIST: ten digits, half of the pixels black."""
    rng = np.random.default_rng(0)

    def part(n: int) -> dict[str, np.ndarray]:
        bright = rng.integers(1, 256, (n, 28, 28), dtype=np.uint8)
        return {"images": bright * rng.integers(0, 2, bright.shape, dtype=np.uint8), "labels": np.arange(n) % 10}

    arrays = {f"{name}_{key}": value for name, n in (("train", 6000), ("test", 1000)) for key, value in part(n).items()}
    monkeypatch.setattr(module, "load_mnist", lambda _: arrays)
    return Roots(tmp_path, None)


SMALL = SpuCoMNIST(train_size=4000, val_size=2000, test_size=1000, spurious_noise=0.05)


def counts(data: GroupedData, part: str) -> IntArray:
    """(K, K) rows of a split by true class and colour."""
    rows = data.split == part
    assert data.y_clean is not None
    table = np.zeros((K, K), dtype=np.int64)
    np.add.at(table, (data.y_clean[rows], data.a[rows]), 1)
    return table


def test_there_are_as_many_colours_as_classes_and_a_class_is_two_digits(roots: Roots) -> None:
    data = SMALL.load(roots)
    assert (data.n_classes, len(data.info.attributes)) == (K, K)
    assert len(COLOURS) == K
    np.testing.assert_array_equal(counts(data, "test").sum(1), [200] * K)


def test_a_class_has_its_colour_but_for_the_published_share_and_the_rest_have_the_others_alike(roots: Roots) -> None:
    table = counts(SMALL.load(roots), "train")
    np.testing.assert_allclose(np.diag(table) / table.sum(1), 0.95, atol=0.001)
    for label, row in enumerate(table):
        others = np.delete(row, label)
        assert others.max() - others.min() <= 1


@pytest.mark.parametrize("part", ["val", "test"])
def test_every_class_of_val_and_test_has_all_colours_alike(part: str, roots: Roots) -> None:
    table = counts(SMALL.replace(core_noise=0.2).load(roots), part)
    assert (table.max(1) - table.min(1)).max() <= 1


@pytest.mark.data
def test_the_fetched_mnist_gives_the_published_sizes_and_rates() -> None:
    data = SpuCoMNIST().load(Roots.from_environment())
    table = counts(data, "train")
    assert table.sum() == 48_004
    np.testing.assert_array_equal(table.sum(1) - np.diag(table), np.round(0.005 * table.sum(1)))
    assert (data.split == "val").sum() == 11_996
    assert counts(data, "test").sum() == 10_000


def test_label_noise_is_exact_in_every_class_and_takes_the_other_labels_alike(roots: Roots) -> None:
    data = SMALL.replace(core_noise=0.2).load(roots)
    assert data.y_clean is not None
    for part in ("train", "val"):
        rows = data.split == part
        table = np.zeros((K, K), dtype=np.int64)
        np.add.at(table, (data.y_clean[rows], data.y[rows]), 1)
        np.testing.assert_allclose(1 - np.diag(table) / table.sum(1), 0.2, atol=0.002)
        for label, row in enumerate(table):
            others = np.delete(row, label)
            assert others.max() - others.min() <= 1
    test = data.split == "test"
    np.testing.assert_array_equal(data.y[test], data.y_clean[test])


def test_colours_follow_the_clean_label_or_the_noisy_one(roots: Roots) -> None:
    rates = {}
    for follows in ("clean", "noisy"):
        data = SMALL.replace(core_noise=0.2, follows=follows).load(roots)
        assert data.y_clean is not None
        rows = data.split == "train"
        rates[follows] = [float(np.mean(data.a[rows] != labels[rows])) for labels in (data.y_clean, data.y)]
    assert rates["clean"][0] == pytest.approx(0.05, abs=0.001)
    assert rates["noisy"][1] == pytest.approx(0.05, abs=0.001)
    # The other label is wrong in one row of five, and by chance right in one of four rows of another colour.
    assert rates["clean"][1] == pytest.approx(0.05 + 0.2 - 0.05 * 0.2 - 0.05 * 0.2 / 4, abs=0.02)


def test_torn_digits_keep_two_pixels_of_five_and_only_the_given_share_is_torn(roots: Roots) -> None:
    digits = np.full((400, 28, 28), 200, dtype=np.uint8)
    torn = np.arange(400) < 100
    made = tear(digits, torn, np.random.default_rng(0))
    # P(N > 0.25) for a standard normal number.
    assert np.mean(made[torn] == 200) == pytest.approx(0.4013, abs=0.005)
    assert (made[~torn] == 200).all()
    plain, noisy = (SMALL.replace(feature_noise=share).load(roots) for share in (0.0, 0.3))
    for part, share in (("train", 0.3), ("val", 0.3), ("test", 0.0)):
        images = [d.inputs.read(np.flatnonzero(d.split == part)) for d in (plain, noisy)]
        changed = (images[0] != images[1]).any(axis=(1, 2, 3))
        assert changed.mean() == pytest.approx(share, abs=0.001)


@pytest.mark.parametrize(
    ("difficulty", "pixels"),
    [
        ("magnitude-large", 784),
        ("magnitude-medium", 16),
        ("magnitude-small", 4),
        ("variance-low", POINTS),
        ("variance-medium", POINTS),
        ("variance-high", POINTS),
    ],
)
def test_a_difficulty_colours_the_published_number_of_pixels_in_its_square(difficulty: str, pixels: int) -> None:
    black = np.zeros((50, 28, 28), dtype=np.uint8)
    made = on_colours(black, np.arange(50) % K, difficulty, np.random.default_rng(0))
    coloured = np.asarray(made.any(axis=3))
    assert (coloured.sum(axis=(1, 2)) == pixels).all()
    side = WHERE[difficulty]
    assert not coloured[:, side:].any()
    assert not coloured[:, :, side:].any()
    alike = (coloured == coloured[0]).all()
    assert alike == (difficulty not in ("variance-medium", "variance-high"))


def test_digits_are_white_before_one_colour_per_attribute() -> None:
    digit = np.zeros((K, 28, 28), dtype=np.uint8)
    digit[:, 10:12, 10:12] = 180
    made = on_colours(digit, np.arange(K), "magnitude-large", np.random.default_rng(0))
    assert (made[:, 10, 10] == 180).all()
    assert list(map(tuple, made[:, 0, 0].tolist())) == list(COLOURS.values())


def test_sizes_that_mnist_does_not_have_are_refused() -> None:
    with pytest.raises(FttError, match="share the training images"):
        SpuCoMNIST(train_size=50_000, val_size=20_000)


def test_five_classes_with_five_colours_go_through_every_stage(roots: Roots, tmp_path: Path) -> None:
    """K > 2 with A = K: groups, class-balanced probing and worst groups are those of 25 cells."""
    for recipe in ("init", "erm", "ftt"):
        result = api.run(
            "spuco-mnist", recipe, budget="smoke", core_noise=0.1, spurious_noise=0.1, home=tmp_path / "home"
        )
        assert list(result.report.by_attribute) == list(COLOURS)
        assert len(result.report.by_label_and_attribute) == K * K
        assert {rate.n for rate in result.report.by_label_and_attribute.values()} <= {19, 20, 21}
        assert 0 <= result.worst_group_accuracy <= result.average_accuracy <= 1
        assert result.noise["core"] == pytest.approx(0.1, abs=0.01)
