"""What the loop reads: rows in an order that is a function of (seed, epoch), sliced evenly over processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ftt.backbones.base import Backbone
from ftt.data.grouped import Fittable
from ftt.train.rng import generator

IntArray = npt.NDArray[np.int64]


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
    """

    def __init__(self, split: Fittable, backbone: Backbone, frozen: npt.NDArray[np.float32], batch_size: int) -> None:
        self.split = split
        self.backbone = backbone
        self.frozen = torch.from_numpy(np.ascontiguousarray(frozen))
        self.y = torch.from_numpy(split.y)
        self.a = torch.from_numpy(split.a)
        self.batch_size = batch_size

    def order(self, rows: IntArray, seed: int, epoch: int) -> list[IntArray]:
        """The rows of every step of one epoch; a row listed twice is visited twice."""
        shuffled = generator(seed, "order", epoch).permutation(rows)
        return [shuffled[start : start + self.batch_size] for start in range(0, len(shuffled), self.batch_size)]

    def load(self, steps: list[IntArray], rank: int = 0, world: int = 1) -> Iterator[Loaded]:
        """The batches of these steps; with several processes each takes every world-th row."""
        for rows in steps:
            own = rows[rank::world]
            index = torch.from_numpy(own)
            x = self.backbone.prepare(self.split.inputs.read(own))
            yield Loaded(x, self.frozen[index], self.y[index], self.a[index])
