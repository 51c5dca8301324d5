"""What the training loop reads: rows in an order that is a function of (seed, epoch), sliced evenly over processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ftt.arrays import IntArray
from ftt.backbones.backbone import Backbone
from ftt.data.augment import augment
from ftt.data.grouped import Fittable
from ftt.data.inputs import ArrayInputs
from ftt.rng import generator
from ftt.rows import InMemory, Rows
from ftt.spec import Training
from ftt.train.reading_ahead import ahead

HELD = 2**29
"""Bytes up to which the frozen features of all training rows are held in memory."""

WINDOWED, WINDOW, RUN = 2**20, 2**17, 2**10
"""Rows of a split from which on it is shuffled in windows, rows of a window, and neighbouring rows read together."""


@dataclass(frozen=True)
class Loaded:
    """One batch as tensors: prepared inputs, frozen features, observed labels, attribute, environment, soft labels."""

    x: Tensor
    frozen: Tensor
    y: Tensor
    a: Tensor
    environment: Tensor
    soft: Tensor | None = None


@dataclass(frozen=True)
class Frozen:
    """The frozen half of the features.

    Attributes
    ----------
    table : (n, k) Rows
        Frozen features of every row, without augmentation; k = 0 without a freeze stage.
    branch : callable, optional
        Frozen features of prepared inputs, for views that no table can hold.
    """

    table: Rows
    branch: Callable[[Tensor], Tensor] | None = None


@dataclass(frozen=True)
class Share:
    """Which rows of a batch this process takes: every `world`-th, from number `rank` on."""

    rank: int = 0
    world: int = 1


WHOLE = Share()


class Batches:
    """The training split, batch by batch.

    Parameters
    ----------
    split : Fittable
        Training rows.
    backbone : Backbone
        Prepares the inputs.
    frozen : Frozen
        Frozen features of the rows.
    training : Training
        Batch size (rows per step, over all processes), augmentation and sampling: ``shuffle``, or ``per-attribute``
        (DomainBed's batches: equally many rows of every domain, with replacement).
    """

    def __init__(self, split: Fittable, backbone: Backbone, frozen: Frozen, training: Training) -> None:
        self.split = split
        self.backbone = backbone
        # A table that is small enough is computed once; of a larger one each step computes its own rows.
        small = frozen.table.shape[0] * frozen.table.shape[1] * 4 <= HELD
        self.table = InMemory(np.ascontiguousarray(frozen.table.array())) if small else frozen.table
        self.branch = frozen.branch
        self.training = training
        self.y = torch.from_numpy(split.y)
        self.a = torch.from_numpy(split.a)
        self.environment = self.a if split.environment is None else torch.from_numpy(split.environment)
        self.soft = None if split.soft is None else torch.from_numpy(split.soft)

    def __len__(self) -> int:
        return len(self.y)

    def frozen(self, rows: IntArray) -> Tensor:
        """(B, k) frozen features of these rows."""
        return torch.from_numpy(self.table.read(rows))

    def order(self, rows: IntArray, seed: int, epoch: int) -> list[IntArray]:
        """The rows of every step of one epoch; a row listed twice is visited twice."""
        rng = generator(seed, "order", epoch)
        if self.training.sampling == "per-attribute":
            return self._drawn(rows, rng)
        size = self.training.batch_size
        shuffled = rng.permutation(rows) if len(rows) <= WINDOWED else in_windows(rows, rng)
        return [shuffled[start : start + size] for start in range(0, len(shuffled), size)]

    def steps_per_epoch(self, rows: IntArray) -> int:
        return -(-len(rows) // self.training.batch_size)

    def _drawn(self, rows: IntArray, rng: np.random.Generator) -> list[IntArray]:
        values = self.split.a[rows]
        pools = [rows[values == value] for value in np.unique(values)]
        # Where the batch does not divide evenly the first values get one row more.
        sizes = [len(part) for part in np.array_split(np.arange(self.training.batch_size), len(pools))]
        return [
            np.concatenate([rng.choice(pool, size=size) for pool, size in zip(pools, sizes, strict=True)])
            for _ in range(self.steps_per_epoch(rows))
        ]

    def load(
        self, steps: list[IntArray], seed: int, epoch: int, first: int = 0, share: Share = WHOLE
    ) -> Iterator[Loaded]:
        """The batches of these steps of an epoch, the first of which has number `first`."""
        made = self._made(steps, seed, epoch, first, share)
        return ahead(made) if self._takes_long else made

    @property
    def _takes_long(self) -> bool:
        """Whether batches are read ahead: where views are drawn or rows are on a disk, by runs of one thread.

        A training of several threads has none to spare: a reader that takes one away slows it down to that of one.
        """
        slow = self.training.augment != "none" or not isinstance(self.split.inputs, ArrayInputs)
        return slow and torch.get_num_threads() == 1

    def _made(self, steps: list[IntArray], seed: int, epoch: int, first: int, share: Share) -> Iterator[Loaded]:
        for number, rows in enumerate(steps, start=first):
            own = rows[share.rank :: share.world]
            raw = self.split.inputs.read(own)
            index = torch.from_numpy(own)
            if self.training.augment == "none":
                yield Loaded(self.backbone.prepare(raw), self.frozen(own), *self._known(index))
                continue
            rng = generator(seed, "views", epoch, number, share.rank)
            x = self.backbone.prepare(augment(raw, self.split.inputs.kind, self.training.augment, rng))
            frozen = self.branch(x) if self.branch else self.frozen(own)
            yield Loaded(x, frozen, *self._known(index))

    def _known(self, index: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Labels, attribute, environment and soft labels of these rows."""
        soft = None if self.soft is None else self.soft[index]
        return self.y[index], self.a[index], self.environment[index], soft


def in_windows(rows: IntArray, rng: np.random.Generator) -> IntArray:
    """Every row once, in an order that reads a file larger than memory piece by piece.

    Runs of neighbouring rows are shuffled, then the rows of each window of 128 runs. Single rows from all over a large
    file would each cost a seek.

    Examples
    --------
    >>> order = in_windows(np.arange(300_000), np.random.default_rng(0))
    >>> bool((np.sort(order) == np.arange(300_000)).all())
    True
    """
    runs = np.array_split(rows, -(-len(rows) // RUN))
    shuffled = np.concatenate([runs[number] for number in rng.permutation(len(runs))])
    for start in range(0, len(shuffled), WINDOW):
        rng.shuffle(shuffled[start : start + WINDOW])
    return shuffled
