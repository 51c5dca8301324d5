"""Coloured MNIST has the rates, sizes and colours that Arjovsky et al. publish."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ftt.arrays import BoolArray
from ftt.data import GroupedData, Roots
from ftt.data import coloured_mnist as module
from ftt.data.coloured_mnist import ColouredMNIST, coloured
from ftt.errors import FttError


@pytest.fixture
def roots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Roots:
    """A small stand-in for MNIST: random pixels, ten digits, the same parts."""
    rng = np.random.default_rng(0)
    arrays = {
        "train_images": rng.integers(0, 256, (6000, 28, 28), dtype=np.uint8),
        "train_labels": np.arange(6000) % 10,
        "test_images": rng.integers(0, 256, (1000, 28, 28), dtype=np.uint8),
        "test_labels": np.arange(1000) % 10,
    }
    monkeypatch.setattr(module, "load_mnist", lambda _: arrays)
    monkeypatch.setattr(module, "TRAIN_ROWS", 5000)
    return Roots(tmp_path, None)


SMALL = ColouredMNIST(train_size=5000, val_size=1000, test_size=1000)


def shares(data: GroupedData, mask: BoolArray) -> tuple[float, float]:
    """Core and colour noise of these rows."""
    assert data.y_clean is not None
    return float(np.mean(data.y[mask] != data.y_clean[mask])), float(np.mean(data.a[mask] != data.y[mask]))


def test_environments_and_noises_have_the_published_rates(roots: Roots) -> None:
    data = SMALL.load(roots)
    assert data.environment is not None
    train = data.split == "train"
    for code, colours in ((0, 0.1), (1, 0.2)):
        mask = train & (data.environment == code)
        assert mask.sum() == 2500
        assert shares(data, mask) == pytest.approx((0.25, colours), abs=0.001)
    assert shares(data, data.split == "val") == pytest.approx((0.25, 0.5), abs=0.002)


def test_test_rows_have_reversed_colours_and_noisy_labels_as_published(roots: Roots) -> None:
    noisy = SMALL.replace(test_labels="noisy").load(roots)
    test = noisy.split == "test"
    assert noisy.y_clean is None
    assert float(np.mean(noisy.a[test] != noisy.y[test])) == pytest.approx(0.9, abs=0.001)
    clean = SMALL.load(roots)
    assert float(np.mean(noisy.y[test] != clean["test"].y_clean)) == pytest.approx(0.25, abs=0.001)
    np.testing.assert_array_equal(noisy.a, clean.a)


@pytest.mark.data
def test_the_fetched_mnist_gives_the_published_sizes_and_rates() -> None:
    data = ColouredMNIST().load(Roots.from_environment())
    train = data.split == "train"
    assert data.environment is not None
    assert [int((train & (data.environment == code)).sum()) for code in (0, 1)] == [25_000, 25_000]
    assert [int((data.split == part).sum()) for part in ("val", "test")] == [10_000, 10_000]
    for code, colours in ((0, 0.1), (1, 0.2)):
        assert shares(data, train & (data.environment == code)) == pytest.approx((0.25, colours), abs=1e-4)


def test_noises_are_parameters(roots: Roots) -> None:
    data = SMALL.replace(core_noise=0.1, spurious_noise=0.3, gap=0.2, val_noise=0.7).load(roots)
    assert data.environment is not None
    train = data.split == "train"
    for code, colours in ((0, 0.2), (1, 0.4)):
        assert shares(data, train & (data.environment == code)) == pytest.approx((0.1, colours), abs=0.001)
    assert shares(data, data.split == "val")[1] == pytest.approx(0.7, abs=0.002)


def test_what_val_and_test_are_like_does_not_change_the_training_rows(roots: Roots) -> None:
    one, other = (SMALL.replace(test_noise=t, val_noise=t).load(roots) for t in (0.9, 0.5))
    np.testing.assert_array_equal(one["train"].y, other["train"].y)
    assert one["train"].inputs.fingerprint() == other["train"].inputs.fingerprint()


def test_red_and_green_are_channels_and_every_second_pixel_is_kept() -> None:
    images = np.random.default_rng(0).integers(1, 256, (2, 28, 28), dtype=np.uint8)
    green, red = coloured(images, np.array([0, 1]))
    np.testing.assert_array_equal(green[..., 1], images[0, ::2, ::2])
    np.testing.assert_array_equal(red[..., 0], images[1, ::2, ::2])
    assert not green[..., 0].any()
    assert not red[..., 1].any()
    gray = coloured(images, None)
    np.testing.assert_array_equal(gray[..., 0], gray[..., 1])


def test_a_gap_that_leaves_the_range_is_refused() -> None:
    with pytest.raises(FttError, match="colour noise of an environment"):
        ColouredMNIST(spurious_noise=0.02, gap=0.1)
