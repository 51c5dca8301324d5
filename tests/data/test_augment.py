"""Views are drawn from the generator alone, keep shape and range, and differ from the image."""

from __future__ import annotations

import numpy as np
import pytest

from ftt.data.augment import PRESETS, augment
from ftt.errors import FttError

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 20, 12, 3), dtype=np.uint8)


@pytest.mark.parametrize("preset", PRESETS)
def test_views_keep_shape_and_range_and_repeat_with_the_generator(preset: str) -> None:
    first, second = (augment(IMAGES, "images", preset, np.random.default_rng(7)) for _ in range(2))
    other = augment(IMAGES, "images", preset, np.random.default_rng(8))
    assert first.shape == IMAGES.shape
    assert first.dtype == np.float32
    assert first.min() >= 0
    assert first.max() <= 255
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_a_view_of_a_constant_image_is_that_image() -> None:
    """Cropping and mirroring invent no values."""
    flat = np.full((3, 16, 16, 3), 77, dtype=np.uint8)
    np.testing.assert_allclose(augment(flat, "images", "crop-flip", np.random.default_rng(0)), 77, atol=1e-3)


def test_about_half_of_the_views_are_mirrored() -> None:
    ramp = np.broadcast_to(np.arange(64, dtype=np.uint8)[None, None, :, None], (400, 64, 64, 1)).copy()
    views = augment(ramp, "images", "crop-flip", np.random.default_rng(0))
    mirrored = views[:, 32, -1, 0] < views[:, 32, 0, 0]
    assert 0.4 < mirrored.mean() < 0.6


def test_features_are_perturbed_in_proportion_to_their_spread() -> None:
    features = np.random.default_rng(0).standard_normal((500, 2)).astype(np.float32) * np.array([1, 100], np.float32)
    views = augment(features, "features", "views", np.random.default_rng(1))
    kept = views != 0
    noise = [(views - features)[kept[:, j], j].std() for j in range(2)]
    assert noise[1] / noise[0] == pytest.approx(100, rel=0.2)
    assert 0.05 < 1 - kept.mean() < 0.15


@pytest.mark.parametrize(("kind", "preset"), [("texts", "crop-flip"), ("images", "sepia")])
def test_what_cannot_be_augmented_is_refused(kind: str, preset: str) -> None:
    with pytest.raises(FttError):
        augment(IMAGES, kind, preset, np.random.default_rng(0))  # type: ignore[arg-type]
