"""Digits: scikit-learn's handwritten digits, one above another. Real images, no download: tests and quick start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ftt.data.dataset import Dataset, assemble, pick_balanced
from ftt.data.grouped import DatasetInfo, GroupedData
from ftt.data.pairing import make_environments
from ftt.data.roots import Roots
from ftt.params import param
from ftt.rng import generator

SIZES = {"train": 640, "val": 360, "test": 400}


@dataclass(frozen=True)
class Digits(Dataset):
    """An even or odd digit (2..9, core) above a zero or one (spurious), 16×8 pixels.

    The 1,437 core digits are split 640 / 360 / 400 without overlap; so are the 360 zeros and ones.
    """

    name: ClassVar[str] = "digits"
    info: ClassVar[DatasetInfo] = DatasetInfo(
        name="digits",
        classes=("even", "odd"),
        attributes=("zero", "one"),
        summary="handwritten digits 2..9, even or odd (core), above zeros/ones (spurious), 16x8",
        licence="CC BY 4.0 (UCI Optical Recognition of Handwritten Digits)",
        citation="Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI 1998",
        how_to_get="comes with scikit-learn",
    )

    core_noise: float = param(0.0, help="share of wrong labels in train and val", low=0, high=0.5)
    spurious_noise: float = param(0.0, help="share of digits that disagree with the label", low=0, high=0.5)
    seed: int = param(0, help="seed of flips and pairing", low=0)

    def load(self, roots: Roots) -> GroupedData:
        from sklearn.datasets import load_digits

        bunch = load_digits()
        images = np.rint(bunch.images * (255 / 16)).astype(np.uint8)
        target = bunch.target.astype(np.int64)
        rng = generator(self.seed, "digits")
        core_rows, spurious_rows = np.flatnonzero(target >= 2), np.flatnonzero(target <= 1)
        core_y, spurious_y = target[core_rows] % 2, target[spurious_rows]
        cores = dict(zip(SIZES, pick_balanced(core_y, tuple(SIZES.values()), rng), strict=True))
        shares = dict(zip(SIZES, pick_balanced(spurious_y, (160, 90, 100), rng), strict=True))
        parts = make_environments(
            {name: core_y[rows] for name, rows in cores.items()},
            {name: spurious_y[rows] for name, rows in shares.items()},
            core_noise=self.core_noise,
            spurious_noise=self.spurious_noise,
            rng=rng,
        )
        stacked = [
            np.concatenate(
                [images[core_rows[cores[name][p.core]]], images[spurious_rows[shares[name][p.spurious]]]], axis=1
            )
            for name, p in parts.items()
        ]
        return assemble(self.info, np.concatenate(stacked)[..., None], parts)
