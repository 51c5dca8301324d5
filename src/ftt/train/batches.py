"""What the training loop reads: rows in an order that is a function of (seed, epoch), sliced evenly over processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ftt.arrays import Float32Array, IntArray
from ftt.backbones.backbone import Backbone
from ftt.data.augment import augment
from ftt.data.grouped import Fittable
from ftt.rng import generator
from ftt.spec import Training


@dataclass(frozen=True)
class Loaded:
    """One batch as tensors: prepared inputs, frozen features, observed labels, attribute."""

    x: Tensor
    frozen: Tensor
    y: Tensor
    a: Tensor


@dataclass(frozen=True)
class Frozen:
    """The frozen half of the features.

    Attributes
    ----------
    table : (n, k) float32 array
        Frozen features of every row, without augmentation; k = 0 without a freeze stage.
    branch : callable, optional
        Frozen features of prepared inputs, for views that no table can hold.
    """

    table: Float32Array
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
        self.frozen = torch.from_numpy(np.ascontiguousarray(frozen.table))
        self.branch = frozen.branch
        self.training = training
        self.y = torch.from_numpy(split.y)
        self.a = torch.from_numpy(split.a)

    def __len__(self) -> int:
        return len(self.y)

    def order(self, rows: IntArray, seed: int, epoch: int) -> list[IntArray]:
        """The rows of every step of one epoch; a row listed twice is visited twice."""
        rng = generator(seed, "order", epoch)
        if self.training.sampling == "per-attribute":
            return self._drawn(rows, rng)
        shuffled, size = rng.permutation(rows), self.training.batch_size
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
        for number, rows in enumerate(steps, start=first):
            own = rows[share.rank :: share.world]
            raw = self.split.inputs.read(own)
            index = torch.from_numpy(own)
            if self.training.augment == "none":
                yield Loaded(self.backbone.prepare(raw), self.frozen[index], self.y[index], self.a[index])
                continue
            rng = generator(seed, "views", epoch, number, share.rank)
            x = self.backbone.prepare(augment(raw, self.split.inputs.kind, self.training.augment, rng))
            frozen = self.branch(x) if self.branch else self.frozen[index]
            yield Loaded(x, frozen, self.y[index], self.a[index])
