"""Random views of a batch, drawn from a generator that is handed in: the same generator gives the same views.

Presets: ``crop-flip`` (the paper's Waterbirds and CelebA: area 0.7–1, mirror), ``domainbed`` (the same followed by
``ColorJitter(0.3, 0.3, 0.3, 0.3)`` and ``RandomGrayscale(0.1)``), ``views`` (stronger crops, brightness and contrast,
for contrastive learning). Features, which have no geometry, get noise in proportion to their spread and lose a tenth
of their entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ftt.arrays import Float32Array
from ftt.data import colour
from ftt.data.inputs import Kind
from ftt.errors import FttError, unknown


@dataclass(frozen=True)
class Strength:
    """How much a view may differ from its image; `jitter` is by adjustment (`ftt.data.colour`)."""

    area: tuple[float, float] = (0.7, 1.0)
    mirror: float = 0.5
    jitter: Mapping[str, float] = field(default_factory=dict)
    grayscale: float = 0.0


PRESETS = {
    "crop-flip": Strength(),
    "domainbed": Strength(jitter=dict.fromkeys(colour.ADJUSTMENTS, 0.3), grayscale=0.1),
    "views": Strength(area=(0.4, 1.0), jitter={"brightness": 0.4, "contrast": 0.4}, grayscale=0.2),
}


def augment(batch: npt.NDArray[Any], kind: Kind, preset: str, rng: np.random.Generator) -> Float32Array:
    """One random view of every row; images stay on the scale 0–255.

    Parameters
    ----------
    batch : (n, H, W, C) uint8 or (n, d) float32
    """
    if preset not in PRESETS:
        raise unknown("augmentation", preset, (*PRESETS, "none"))
    if kind == "features":
        return _perturb(batch.astype(np.float32), rng)
    if kind != "images":
        raise FttError("inputs of this kind cannot be augmented", given=kind, allowed="images, features")
    strength = PRESETS[preset]
    return _recolour(_crop_and_mirror(batch, strength, rng), strength, rng)


def _perturb(batch: Float32Array, rng: np.random.Generator) -> Float32Array:
    noise = rng.standard_normal(batch.shape, dtype=np.float32) * (0.1 * batch.std(axis=0, keepdims=True))
    kept: Float32Array = (batch + noise) * (rng.random(batch.shape, dtype=np.float32) > 0.1)
    return kept


def _crop_and_mirror(batch: npt.NDArray[Any], strength: Strength, rng: np.random.Generator) -> Float32Array:
    """A rectangle of random area, ratio and place, brought back to the full size by one bilinear sampling."""
    import torch
    from torch.nn.functional import affine_grid, grid_sample

    n = len(batch)
    area = rng.uniform(*strength.area, n)
    ratio = np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3), n))
    width, height = np.minimum(np.sqrt(area * ratio), 1), np.minimum(np.sqrt(area / ratio), 1)
    # In the coordinates of affine_grid the image is [-1, 1]²; a crop of share w can move by ±(1 − w).
    x, y = rng.uniform(-1, 1, n) * (1 - width), rng.uniform(-1, 1, n) * (1 - height)
    side = np.where(rng.random(n) < strength.mirror, -1.0, 1.0)
    zero = np.zeros(n)
    theta = np.stack([np.stack([width * side, zero, x], 1), np.stack([zero, height, y], 1)], 1)
    images = torch.from_numpy(np.ascontiguousarray(batch)).permute(0, 3, 1, 2).to(torch.float32)
    grid = affine_grid(torch.from_numpy(theta).to(torch.float32), list(images.shape), align_corners=False)
    views = grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)
    out: Float32Array = views.permute(0, 2, 3, 1).numpy()
    return out


def _recolour(images: Float32Array, strength: Strength, rng: np.random.Generator) -> Float32Array:
    if strength.jitter:
        images = colour.jitter(images, strength.jitter, rng)
    if strength.grayscale:
        gray = rng.random((len(images), 1, 1, 1)) < strength.grayscale
        images = np.where(gray, colour.grayscale(images), images)
    return images
