"""Dominoes: CIFAR-10 cars and trucks (core) above MNIST zeros and ones (spurious), the paper's construction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ftt.arrays import IntArray
from ftt.data.cifar_mnist import CIFAR10, MNIST, load_cifar10, load_mnist
from ftt.data.dataset import Dataset, assemble, pick_balanced
from ftt.data.fetch import Collection
from ftt.data.grouped import DatasetInfo, GroupedData
from ftt.data.pairing import make_environments
from ftt.data.roots import Roots
from ftt.errors import FttError
from ftt.params import param
from ftt.rng import generator

CAR, TRUCK = 1, 9
SOURCE = {"train": "train", "val": "train", "test": "test"}
"""Which published part a split is drawn from."""


@dataclass(frozen=True)
class Dominoes(Dataset):
    """CIFAR-10 cars/trucks above MNIST zeros/ones, 64×32 pixels.

    By default train and val share no CIFAR image. The paper's sizes (train 10,000, val 10,000) need the same CIFAR
    images in both, since there are only 10,000: ``paper_sizes=True``. The MNIST test set has 980 zeros; where 1,000
    are needed, twenty are used twice.
    """

    name: ClassVar[str] = "dominoes"
    info: ClassVar[DatasetInfo] = DatasetInfo(
        name="dominoes",
        classes=("car", "truck"),
        attributes=("zero", "one"),
        summary="CIFAR-10 cars/trucks (core) above MNIST zeros/ones (spurious), 64x32",
        licence="CIFAR-10: free for research with citation; MNIST: CC BY-SA 3.0",
        citation="Shah et al., The Pitfalls of Simplicity Bias in Neural Networks, NeurIPS 2020",
        how_to_get="ftt data get dominoes",
    )

    core_noise: float = param(0.0, help="share of wrong labels in train and val", low=0, high=0.5)
    spurious_noise: float = param(0.0, help="share of digits that disagree with the label", low=0, high=0.5)
    seed: int = param(0, help="seed of flips and pairing", low=0)
    train_size: int = param(5000, help="number of training images", low=4)
    val_size: int = param(3000, help="number of probing images", low=4)
    paper_sizes: bool = param(False, help="use 10,000 / 10,000 / 2,000 images; train and val share CIFAR images")

    @classmethod
    def collections(cls) -> tuple[Collection, ...]:
        return CIFAR10, MNIST

    def load(self, roots: Roots) -> GroupedData:
        cifar, mnist = load_cifar10(roots), load_mnist(roots)
        rng = generator(self.seed, "dominoes")
        vehicles = {part: np.flatnonzero(np.isin(cifar[f"{part}_labels"], (CAR, TRUCK))) for part in ("train", "test")}
        digits = {part: np.flatnonzero(mnist[f"{part}_labels"] <= 1) for part in ("train", "test")}
        train, val = self._split((cifar["train_labels"][vehicles["train"]] == TRUCK).astype(np.int64), rng)
        top = {"train": vehicles["train"][train], "val": vehicles["train"][val], "test": vehicles["test"]}
        bottom = {"train": digits["train"], "val": digits["train"], "test": digits["test"]}
        parts = make_environments(
            {s: (cifar[f"{SOURCE[s]}_labels"][rows] == TRUCK).astype(np.int64) for s, rows in top.items()},
            {s: mnist[f"{SOURCE[s]}_labels"][rows] for s, rows in bottom.items()},
            core_noise=self.core_noise,
            spurious_noise=self.spurious_noise,
            rng=rng,
        )
        images = [
            stack(
                cifar[f"{SOURCE[s]}_images"][top[s][pairs.core]],
                mnist[f"{SOURCE[s]}_images"][bottom[s][pairs.spurious]],
            )
            for s, pairs in parts.items()
        ]
        return assemble(self.info, np.concatenate(images), parts)

    def _split(self, truck: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        if self.paper_sizes:
            everything = np.arange(len(truck))
            return everything, everything
        if self.train_size + self.val_size > len(truck):
            raise FttError(
                "there are not enough CIFAR-10 cars and trucks for disjoint splits",
                given=f"train_size {self.train_size} + val_size {self.val_size}",
                allowed=f"at most {len(truck)} together",
                hint="make one smaller, or pass paper_sizes (train and val then share images)",
            )
        train, val = pick_balanced(truck, (self.train_size, self.val_size), rng)
        return train, val


def stack(top: npt.NDArray[np.uint8], digit: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """(n, 64, 32, 3): images (n, 32, 32, 3) above digits (n, 28, 28), padded by 2 and repeated over the channels."""
    padded = np.pad(digit, ((0, 0), (2, 2), (2, 2)))
    return np.concatenate([top, np.repeat(padded[..., None], 3, axis=3)], axis=1)
