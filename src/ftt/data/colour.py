"""Colour jitter of a batch: torchvision's four adjustments, each image with a factor of its own.

Images are (n, H, W, C) float32 on the scale 0–255; factors are (n,) or a number. A factor of 1 (0 for the hue) changes
nothing. Images of one channel have neither saturation nor hue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from ftt.arrays import Float32Array, FloatArray

_LUMA = np.array([0.2989, 0.587, 0.114], dtype=np.float32)


def grayscale(images: Float32Array) -> Float32Array:
    """(n, H, W, 1) luma of the images; two channels are red and green."""
    channels = images.shape[3]
    return images @ _LUMA[:channels, None] if channels > 1 else images


def brightness(images: Float32Array, factor: FloatArray) -> Float32Array:
    """Scale the images; 0 is black."""
    return _blend(images, np.float32(0), factor)


def contrast(images: Float32Array, factor: FloatArray) -> Float32Array:
    """Move the images away from (or towards) their mean gray."""
    return _blend(images, grayscale(images).mean(axis=(1, 2, 3), keepdims=True), factor)


def saturation(images: Float32Array, factor: FloatArray) -> Float32Array:
    """Move every pixel away from (or towards) its gray."""
    return _blend(images, grayscale(images), factor)


def hue(images: Float32Array, shift: FloatArray) -> Float32Array:
    """Turn the colour circle by `shift` of its circumference, in [-0.5, 0.5]."""
    if images.shape[3] != 3:
        return images
    red, green, blue = np.moveaxis(images, 3, 0)
    value = images.max(axis=3)
    chroma = value - images.min(axis=3)
    safe = np.where(chroma == 0, 1, chroma)
    # Where on the circle (0..6) a pixel is depends on which of its channels is the largest.
    sixth = np.where(
        value == red,
        (green - blue) / safe,
        np.where(value == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    sixth = sixth + 6 * _per_image(shift)[..., 0]
    channels = []
    for start in (5, 3, 1):
        place = np.mod(start + sixth, 6)
        channels.append(value - chroma * np.clip(np.minimum(place, 4 - place), 0, 1))
    return np.stack(channels, axis=3).astype(np.float32)


ADJUSTMENTS: Mapping[str, Callable[[Float32Array, FloatArray], Float32Array]] = {
    "brightness": brightness,
    "contrast": contrast,
    "saturation": saturation,
    "hue": hue,
}


def jitter(images: Float32Array, strength: Mapping[str, float], rng: np.random.Generator) -> Float32Array:
    """Adjust every image by random factors in random order, as torchvision's ``ColorJitter`` does.

    Parameters
    ----------
    images : (n, H, W, C) float32
    strength : mapping of str to float
        Largest deviation of each adjustment from no change; those at 0 are left out.
    """
    used = [name for name in ADJUSTMENTS if strength.get(name)]
    n = len(images)
    factors = {name: rng.uniform(-strength[name], strength[name], n) + (0.0 if name == "hue" else 1.0) for name in used}
    order = rng.permuted(np.tile(np.arange(len(used)), (n, 1)), axis=1)
    images = images.copy()
    for step in order.T:
        for number, name in enumerate(used):
            rows = np.flatnonzero(step == number)
            if rows.size:
                images[rows] = ADJUSTMENTS[name](images[rows], factors[name][rows])
    return images


def _blend(images: Float32Array, other: npt.NDArray[np.float32] | np.float32, factor: FloatArray) -> Float32Array:
    weight = _per_image(factor)
    mixed: Float32Array = np.clip(weight * images + (1 - weight) * other, 0, 255).astype(np.float32)
    return mixed


def _per_image(factor: FloatArray) -> Float32Array:
    return np.asarray(factor, dtype=np.float32).reshape(-1, 1, 1, 1)
