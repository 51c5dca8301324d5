"""SpuCo's MNIST: five pairs of digits are the classes, the colour of the background is the shortcut.

Joshi et al., *Towards mitigating spurious correlations in the wild: a benchmark and a more realistic dataset*, 2023.
As many colours as classes. In training 99.5 % of the images of a class have its colour and the others share the other
four; in val and test every class has all colours alike. Labels can be wrong, digits can be torn by noise, and the
colour can be hard to see, in six levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ftt.arrays import BoolArray, IntArray
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

Images = npt.NDArray[np.uint8]

CLASSES = ("0-1", "2-3", "4-5", "6-7", "8-9")
COLOURS = {
    "red": (255, 0, 0),
    "lime": (209, 255, 0),
    "green": (0, 255, 92),
    "blue": (0, 116, 255),
    "violet": (185, 0, 255),
}
"""Five steps of the colour map `hsv` of matplotlib."""
SIDE = 28
POINTS = 49
"""Coloured pixels of the difficulties that vary."""
TORN = 0.25
"""A pixel of a torn digit is kept where a standard normal number exceeds this: 40 % of them."""
MNIST_TRAIN = 60_000

WHERE = {
    "magnitude-large": SIDE,
    "magnitude-medium": 4,
    "magnitude-small": 2,
    "variance-low": 7,
    "variance-medium": 14,
    "variance-high": SIDE,
}
"""Side of the square at the upper left that a difficulty colours, wholly or at `POINTS` random pixels."""
SCATTERED = ("variance-medium", "variance-high")


@dataclass(frozen=True)
class SpuCoMNIST(Dataset):
    """MNIST digits in five classes of two before five colours, 28×28.

    Train and val share MNIST's training part, of which the authors keep 48,004 and 11,996 images; test is its test
    part. Shares are exact in every class and colours are dealt out evenly, where theirs are partly draws. Val has the
    noises of train, since probing sees the same kind of labels as training; theirs has none when its colours are
    balanced.
    """

    name: ClassVar[str] = "spuco-mnist"
    info: ClassVar[DatasetInfo] = DatasetInfo(
        name="spuco-mnist",
        classes=CLASSES,
        attributes=tuple(COLOURS),
        summary="MNIST digits in five pairs (core) before five colours (spurious), 28x28",
        licence="MNIST: CC BY-SA 3.0",
        citation="Joshi et al., Towards Mitigating Spurious Correlations in the Wild, 2023",
        how_to_get="ftt data get spuco-mnist",
    )

    core_noise: float = param(0.0, help="share of wrong labels in train and val, the others alike", low=0, high=0.5)
    spurious_noise: float = param(
        0.005, help="share of training images without the colour of their class", low=0, high=0.5
    )
    feature_noise: float = param(
        0.0, help="share of train and val images whose digit loses three of five pixels", low=0, high=1
    )
    difficulty: str = param(
        "magnitude-large", help="how much of the background is coloured, and where", choices=tuple(WHERE)
    )
    follows: str = param(
        "clean",
        help="label that training colours follow: the clean one (the authors') or the noisy one",
        choices=("clean", "noisy"),
    )
    train_size: int = param(48_004, help="training images", low=25, high=MNIST_TRAIN)
    val_size: int = param(11_996, help="probing images", low=25, high=MNIST_TRAIN)
    test_size: int = param(10_000, help="test images", low=25, high=10_000)
    seed: int = param(0, help="seed of noises and splits", low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.train_size + self.val_size > MNIST_TRAIN:
            raise FttError(
                "train and val share the training images of MNIST",
                given=f"train_size {self.train_size} + val_size {self.val_size}",
                allowed=f"together at most {MNIST_TRAIN}",
                hint="make one of them smaller",
            )

    @classmethod
    def collections(cls) -> tuple[Collection, ...]:
        return (MNIST,)

    def load(self, roots: Roots) -> GroupedData:
        mnist, rng = load_mnist(roots), generator(self.seed, self.name)
        order = rng.permutation(len(mnist["train_labels"]))
        rows = {
            "train": order[: self.train_size],
            "val": order[self.train_size : self.train_size + self.val_size],
            "test": rng.permutation(len(mnist["test_labels"]))[: self.test_size],
        }
        parts, images = {}, []
        for part, chosen in rows.items():
            source = "test" if part == "test" else "train"
            # A generator of its own for every split: what val and test are like does not change the training rows.
            own = generator(self.seed, self.name, part)
            parts[part] = self._draw(mnist[f"{source}_labels"][chosen].astype(np.int64) // 2, part, own)
            digits = mnist[f"{source}_images"][chosen]
            if part != "test":
                digits = tear(digits, flip_share(parts[part].y_clean, self.feature_noise, own), own)
            images.append(on_colours(digits, parts[part].a, self.difficulty, own))
        return assemble(self.info, np.concatenate(images), parts)

    def _draw(self, clean: IntArray, part: str, rng: np.random.Generator) -> Pairs:
        """Labels and colours of a split."""
        core = np.zeros(len(clean), dtype=bool) if part == "test" else flip_exactly(clean, self.core_noise, rng)
        y = to_others(clean, core, rng)
        spurious = np.zeros(len(clean), dtype=bool)
        if part == "train":
            followed = y if self.follows == "noisy" else clean
            spurious = flip_exactly(followed, self.spurious_noise, rng)
            a = to_others(followed, spurious, rng)
        else:
            a = dealt(clean, rng)
        everything = np.arange(len(y))
        return Pairs(everything, everything, y, clean, a, core, spurious)


def flip_share(y: IntArray, share: float, rng: np.random.Generator) -> BoolArray:
    """Mask of an exact share of every class; more than half is the complement of less."""
    mask = flip_exactly(y, min(share, 1 - share), rng)
    return mask if share <= 0.5 else ~mask


def to_others(y: IntArray, mask: BoolArray, rng: np.random.Generator) -> IntArray:
    """(n,) labels of which those in `mask` are replaced by the other classes, by each as often (±1)."""
    replaced = y.copy()
    for label in range(len(CLASSES)):
        rows = rng.permutation(np.flatnonzero(mask & (y == label)))
        others = rng.permutation(np.delete(np.arange(len(CLASSES)), label))
        replaced[rows] = np.resize(others, len(rows))
    return replaced


def dealt(y: IntArray, rng: np.random.Generator) -> IntArray:
    """(n,) colours of which every class has equal numbers (±1)."""
    a = np.empty_like(y)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        a[rows] = np.resize(rng.permutation(len(COLOURS)), len(rows))
    return a


def tear(digits: Images, torn: BoolArray, rng: np.random.Generator) -> Images:
    """The images (n, 28, 28) with pixels lost at random from those that are torn."""
    digits = digits.copy()
    digits[torn] *= rng.standard_normal(digits[torn].shape, dtype=np.float32) > TORN
    return digits


def on_colours(digits: Images, a: IntArray, difficulty: str, rng: np.random.Generator) -> Images:
    """(n, 28, 28, 3): the digits (n, 28, 28) in white, with their colour where they are black and it is shown."""
    shown = digits == 0
    if difficulty != "magnitude-large":
        shown &= _mask(len(digits), difficulty, rng)
    palette = np.array(list(COLOURS.values()), dtype=np.uint8)
    made: Images = np.where(shown[..., None], palette[a][:, None, None, :], digits[..., None])
    return made


def _mask(n: int, difficulty: str, rng: np.random.Generator) -> BoolArray:
    """(n, 28, 28) pixels that may be coloured."""
    side = WHERE[difficulty]
    mask = np.zeros((n, SIDE, SIDE), dtype=bool)
    if difficulty in SCATTERED:
        points = rng.random((n, side * side), dtype=np.float32).argpartition(POINTS, axis=1)[:, :POINTS]
        mask[np.arange(n)[:, None], points // side, points % side] = True
    else:
        mask[:, :side, :side] = True
    return mask
