"""What a timing needs of data: a few rows and their number, also where images or weights are not on this machine yet.

Numbers of rows are then the published ones, images are drawn, and the architecture stands for its weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ftt import backbones
from ftt.arrays import IntArray
from ftt.backbones import Backbone
from ftt.data import Dataset, Roots
from ftt.data.celeba import CelebA
from ftt.data.dataset import NotPlacedError
from ftt.data.domains import Domains
from ftt.data.inputs import ArrayInputs, Inputs
from ftt.data.published import CELEBA, CELEBA_WHOLE, WATERBIRDS
from ftt.data.waterbirds import Waterbirds

DRAWN = 8
"""Images that are drawn."""


@dataclass(frozen=True)
class Sample:
    """Inputs and labels to time something on, and how many rows there are in training and in all."""

    inputs: Inputs
    y: IntArray
    n_classes: int
    train_rows: int
    rows: int


def sample_of(data: Dataset, roots: Roots) -> Sample:
    """The data themselves, or a stand-in where they are still to be placed and their numbers are published."""
    try:
        loaded = data.load(roots)
    except NotPlacedError:
        if not isinstance(data, Waterbirds | CelebA | Domains):
            raise
        drawn = np.random.default_rng(0).integers(0, 256, (DRAWN, data.size, data.size, 3), dtype=np.uint8)
        classes = len(data.info.classes)
        return Sample(ArrayInputs(drawn, "images"), np.arange(DRAWN) % classes, classes, *published_rows(data))
    train = loaded["train"]
    return Sample(train.inputs, train.y, loaded.n_classes, len(train), len(loaded))


def published_rows(data: Waterbirds | CelebA | Domains) -> tuple[int, int]:
    """Training rows and all rows of a data set as it was published."""
    if isinstance(data, Domains):
        held = sum(domain.images for domain in data.domains if domain.name == data.held_out)
        train = round((1 - data.hold_out) * (sum(domain.images for domain in data.domains) - held))
        return train, train + held
    counts = WATERBIRDS
    if isinstance(data, CelebA):
        counts = CELEBA if data.subsample else CELEBA_WHOLE
    return sum(counts["train"]), sum(sum(part) for part in counts.values())


def architecture(name: str, inputs: Inputs, roots: Roots) -> Backbone:
    """The backbone, with random weights where the published ones would have to be fetched."""
    if name.startswith("timm:") and "@" not in name and backbones.missing(name, roots):
        name = name.replace("timm:", "timm-random:", 1)
    return backbones.create(name, inputs)
