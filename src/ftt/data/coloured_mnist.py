"""Coloured MNIST: the digit is the core, its colour the shortcut.

Arjovsky et al., *Invariant risk minimization*, 2019. The label says whether a digit is at least five and is wrong in
25 % of the rows. The colour follows this label but for 10 % of the rows of one training environment and 20 % of the
other, and contradicts it in 90 % of the test rows. It is therefore the less noisy of the two (15 % on average), and no
classifier that ignores it gets more than 75 % of the noisy test labels right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ftt.arrays import BoolArray, FloatArray, IntArray
from ftt.data.cifar_mnist import MNIST, load_mnist
from ftt.data.dataset import Dataset, assemble
from ftt.data.fetch import Collection
from ftt.data.grouped import DatasetInfo, GroupedData
from ftt.data.noise import flip_exactly
from ftt.data.pairing import Pairs
from ftt.data.roots import Roots
from ftt.errors import FttError
from ftt.params import param
from ftt.rng import generator

SOURCE = {"train": "train", "val": "test", "test": "train"}
"""Which published part a split is drawn from."""
TRAIN_ROWS = 50_000
"""The first rows of MNIST's training part are for training, the others for test, as in the authors' code."""


@dataclass(frozen=True)
class ColouredMNIST(Dataset):
    """MNIST digits below five or not, green or red, 14×14 pixels in two channels.

    Training rows are the first 50,000 images of MNIST, dealt to two environments of 25,000; test rows are the other
    10,000 of its training part, as the authors have them. They have no target data to probe on: `val` is made of the
    10,000 images of MNIST's own test part, which they leave out. Flips are exact in number for every class, where
    theirs are independent draws.
    """

    name: ClassVar[str] = "cmnist"
    info: ClassVar[DatasetInfo] = DatasetInfo(
        name="cmnist",
        classes=("0-4", "5-9"),
        attributes=("green", "red"),
        environments=("less colour noise", "more colour noise"),
        summary="MNIST digits below five or not (core), green or red (spurious), 14x14",
        licence="MNIST: CC BY-SA 3.0",
        citation="Arjovsky et al., Invariant Risk Minimization, 2019",
        how_to_get="ftt data get cmnist",
    )

    core_noise: float = param(0.25, help="share of wrong labels in train and val", low=0, high=0.5)
    spurious_noise: float = param(
        0.15, help="share of training colours that disagree with the label, mean of both environments", low=0, high=0.5
    )
    gap: float = param(0.1, help="difference of the colour noises of the two environments", low=0, high=1)
    val_noise: float = param(0.5, help="share of val colours that disagree with the label", low=0, high=1)
    test_noise: float = param(0.9, help="share of test colours that disagree with the noisy label", low=0, high=1)
    test_labels: str = param(
        "clean",
        help="labels that are reported on: clean, or with core_noise like the others (the authors')",
        choices=("clean", "noisy"),
    )
    grayscale: bool = param(False, help="leave the images uncoloured: the authors' oracle")
    train_size: int = param(50_000, help="training images, half of them in each environment", low=4, high=TRAIN_ROWS)
    val_size: int = param(10_000, help="probing images", low=4, high=10_000)
    test_size: int = param(10_000, help="test images", low=4, high=10_000)
    seed: int = param(0, help="seed of flips and splits", low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.spurious_noise - self.gap / 2 <= self.spurious_noise + self.gap / 2 <= 1:
            raise FttError(
                "the colour noise of an environment is outside its range",
                given=f"spurious_noise {self.spurious_noise:g} ± gap {self.gap:g} / 2",
                allowed="between 0 and 1 in both environments",
                hint="make the gap smaller",
            )

    @classmethod
    def collections(cls) -> tuple[Collection, ...]:
        return (MNIST,)

    def load(self, roots: Roots) -> GroupedData:
        mnist, rng = load_mnist(roots), generator(self.seed, "cmnist")
        kept = len(mnist["train_labels"]) - TRAIN_ROWS
        rows = {
            "train": rng.permutation(TRAIN_ROWS)[: self.train_size],
            "val": rng.permutation(len(mnist["test_labels"]))[: self.val_size],
            "test": TRAIN_ROWS + rng.permutation(kept)[: self.test_size],
        }
        environment = np.arange(self.train_size) % 2
        noise = {
            "train": self.spurious_noise + self.gap * (environment - 0.5),
            "val": np.full(self.val_size, self.val_noise),
            "test": np.full(self.test_size, self.test_noise),
        }
        parts = {part: self._draw(mnist[f"{SOURCE[part]}_labels"][rows[part]], noise[part], part) for part in rows}
        images = [
            coloured(mnist[f"{SOURCE[part]}_images"][rows[part]], None if self.grayscale else drawn.a)
            for part, drawn in parts.items()
        ]
        made = assemble(self.info, np.concatenate(images), parts)
        elsewhere = np.zeros(self.val_size + self.test_size, dtype=np.int64)
        return replace(
            made,
            y_clean=None if self.test_labels == "noisy" else made.y_clean,
            environment=np.concatenate([environment, elsewhere]),
        )

    def _draw(self, digits: IntArray, noise: FloatArray, part: str) -> Pairs:
        """Labels and colours of a split; `noise` (n,) is the colour noise of every row."""
        # A generator of its own for every split: what val and test are like does not change the training rows.
        rng = generator(self.seed, "cmnist", part)
        clean = (digits >= 5).astype(np.int64)
        core = _flip_within(clean, np.full(len(clean), self.core_noise), noise, rng)
        y = clean ^ core
        spurious = _flip_within(y, noise, noise, rng)
        a = y ^ spurious
        if part == "test" and self.test_labels == "clean":
            y, core = clean, np.zeros_like(core)
        everything = np.arange(len(y))
        return Pairs(everything, everything, y, clean, a, core, spurious)


def coloured(images: npt.NDArray[np.uint8], colour: IntArray | None) -> npt.NDArray[np.uint8]:
    """(n, 14, 14, 2): every second pixel of images (n, 28, 28) in the red or the green channel, or in both.

    Parameters
    ----------
    colour : (n,) int array, optional
        0 for green, 1 for red; without it the images are not coloured.
    """
    small = images[:, ::2, ::2, None]
    if colour is None:
        return np.repeat(small, 2, axis=3)
    # Red is the first channel and green the second.
    channels = np.stack([colour, 1 - colour], axis=1).astype(np.uint8)
    shown: npt.NDArray[np.uint8] = small * channels[:, None, None, :]
    return shown


def _flip_within(y: IntArray, rate: FloatArray, stratum: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Mask of an exact share of the rows of every class and stratum; within a stratum all rates are equal."""
    mask = np.zeros(len(y), dtype=bool)
    for one in np.unique(stratum):
        rows = np.flatnonzero(stratum == one)
        share = float(rate[rows[0]])
        # More than half is the complement of less than half.
        flipped = flip_exactly(y[rows], min(share, 1 - share), rng)
        mask[rows] = flipped if share <= 0.5 else ~flipped
    return mask
