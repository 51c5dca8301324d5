"""The four colour adjustments are torchvision's, and jitter applies all of them, in an order of its own per image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ftt.arrays import Float32Array, FloatArray
from ftt.backbones.torchvision_guard import ensure_torchvision_imports
from ftt.data import colour
from ftt.data.augment import PRESETS

ensure_torchvision_imports()
functional: Any = pytest.importorskip("torchvision.transforms.functional")

RNG = np.random.default_rng(0)
IMAGES = RNG.uniform(0, 255, (6, 9, 7, 3)).astype(np.float32)
# Grays, black, white and pure colours, where hue and saturation are degenerate.
IMAGES[0, 0] = np.array([[0, 0, 0], [255, 255, 255], [80, 80, 80], [255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 9, 0]])
THEIRS = {
    "brightness": functional.adjust_brightness,
    "contrast": functional.adjust_contrast,
    "saturation": functional.adjust_saturation,
    "hue": functional.adjust_hue,
}


def adjusted_by_torchvision(name: str, images: Float32Array, factors: FloatArray) -> Float32Array:
    tensors = torch.from_numpy(images / 255).permute(0, 3, 1, 2)
    views = [THEIRS[name](image, float(factor)) for image, factor in zip(tensors, factors, strict=True)]
    out: Float32Array = torch.stack(views).permute(0, 2, 3, 1).numpy() * 255
    return out


@pytest.mark.parametrize("name", colour.ADJUSTMENTS)
def test_adjustment_is_that_of_torchvision(name: str) -> None:
    factors = np.array([-0.3, -0.1, 0.0, 0.05, 0.2, 0.3]) + (0 if name == "hue" else 1)
    expected = adjusted_by_torchvision(name, IMAGES, factors)
    np.testing.assert_allclose(colour.ADJUSTMENTS[name](IMAGES, factors), expected, atol=2e-3)


def test_grayscale_is_that_of_torchvision() -> None:
    expected = functional.rgb_to_grayscale(torch.from_numpy(IMAGES).permute(0, 3, 1, 2)).permute(0, 2, 3, 1).numpy()
    np.testing.assert_allclose(colour.grayscale(IMAGES), expected, atol=1e-3)


def test_jitter_is_the_four_adjustments_in_the_drawn_order() -> None:
    strength = PRESETS["domainbed"].jitter
    assert strength == {"brightness": 0.3, "contrast": 0.3, "saturation": 0.3, "hue": 0.3}
    views = colour.jitter(IMAGES, strength, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    factors = {name: rng.uniform(-0.3, 0.3, len(IMAGES)) + (name != "hue") for name in THEIRS}
    orders = rng.permuted(np.tile(np.arange(4), (len(IMAGES), 1)), axis=1)
    assert len({tuple(order) for order in orders}) > 1
    for row, order in enumerate(orders):
        image = IMAGES[row : row + 1]
        for number in order:
            name = list(THEIRS)[number]
            image = adjusted_by_torchvision(name, image, factors[name][row : row + 1])
        np.testing.assert_allclose(views[row : row + 1], image, atol=1e-2)


def test_images_of_one_channel_have_neither_saturation_nor_hue() -> None:
    gray = IMAGES[..., :1]
    np.testing.assert_allclose(colour.saturation(gray, np.full(6, 1.3)), gray, atol=1e-3)
    np.testing.assert_array_equal(colour.hue(gray, np.full(6, 0.3)), gray)
