"""What the loop reads: rows in an order that is a function of (seed, epoch), sliced evenly over processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ftt.arrays import Float32Array, IntArray
from ftt.backbones.base import Backbone
from ftt.data.augment import augment
from ftt.data.grouped import Fittable
from ftt.rng import generator


class FrozenBranch(Protocol):
    """Frozen features of prepared inputs, for views that no cache can hold."""

    def __call__(self, x: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class Loaded:
    """One batch as tensors: prepared inputs, frozen features, observed labels, attribute."""

    x: Tensor
    frozen: Tensor
    y: Tensor
    a: Tensor


class Batches:
    """The training split, batch by batch.

    Parameters
    ----------
    split : Fittable
        Training rows.
    backbone : Backbone
        Prepares the inputs.
    frozen : (n, k) float32 array
        Frozen features of the rows; k = 0 without a freeze stage.
    batch_size : int
        Rows per step, over all processes.
    views : str
        Augmentation; with one, `branch` computes the frozen features of every view.
    sampling : str
        ``shuffle``, or ``per-attribute`` (DomainBed's batches: as many rows of every domain, with replacement).
    """

    def __init__(
        self,
        split: Fittable,
        backbone: Backbone,
        frozen: Float32Array,
        batch_size: int,
        *,
        views: str = "none",
        branch: FrozenBranch | None = None,
        sampling: str = "shuffle",
    ) -> None:
        self.split = split
        self.backbone = backbone
        self.frozen = torch.from_numpy(np.ascontiguousarray(frozen))
        self.y = torch.from_numpy(split.y)
        self.a = torch.from_numpy(split.a)
        self.batch_size = batch_size
        self.views = views
        self.branch = branch
        self.sampling = sampling

    def __len__(self) -> int:
        return len(self.y)

    def order(self, rows: IntArray, seed: int, epoch: int) -> list[IntArray]:
        """The rows of every step of one epoch; a row listed twice is visited twice."""
        rng = generator(seed, "order", epoch)
        if self.sampling == "per-attribute":
            return self._drawn(rows, rng)
        shuffled = rng.permutation(rows)
        return [shuffled[start : start + self.batch_size] for start in range(0, len(shuffled), self.batch_size)]

    def steps_per_epoch(self, rows: IntArray) -> int:
        return -(-len(rows) // self.batch_size)

    def _drawn(self, rows: IntArray, rng: np.random.Generator) -> list[IntArray]:
        values = self.split.a[rows]
        pools = [rows[values == value] for value in np.unique(values)]
        # Where the batch does not divide evenly the first values get one row more.
        sizes = [len(part) for part in np.array_split(np.arange(self.batch_size), len(pools))]
        return [
            np.concatenate([rng.choice(pool, size=size) for pool, size in zip(pools, sizes, strict=True)])
            for _ in range(self.steps_per_epoch(rows))
        ]

    def load(
        self, steps: list[IntArray], seed: int, epoch: int, first: int = 0, rank: int = 0, world: int = 1
    ) -> Iterator[Loaded]:
        """The batches of these steps of an epoch, the first of which has number `first`.

        With several processes each takes every world-th row of a batch.
        """
        for number, rows in enumerate(steps, start=first):
            own = rows[rank::world]
            raw = self.split.inputs.read(own)
            index = torch.from_numpy(own)
            if self.views == "none":
                yield Loaded(self.backbone.prepare(raw), self.frozen[index], self.y[index], self.a[index])
                continue
            rng = generator(seed, "views", epoch, number, rank)
            x = self.backbone.prepare(augment(raw, self.split.inputs.kind, self.views, rng))
            frozen = self.branch(x) if self.branch else self.frozen[index]
            yield Loaded(x, frozen, self.y[index], self.a[index])
