"""The contract of a supervised method: a frozen dataclass of hyper-parameters and a loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ftt.params import Configurable

State = dict[str, Tensor]
"""What a method keeps from step to step (such as group weights); part of every checkpoint."""


@dataclass(frozen=True)
class Outputs:
    """Output of the network for one batch: `logits` (B, K)."""

    logits: Tensor


@dataclass(frozen=True)
class Batch:
    """What a method may use of one batch: observed labels, attribute, and the progress of training.

    `y` (B,) and `a` (B,) are int64; `step` counts optimiser steps from 0 and `epoch` passes over the data.
    `environment` (B,) is where the rows were collected: the attribute, where the data do not say otherwise.
    `soft` (B, K) are probabilities that a teacher gives the labels, for methods with `soft_labels`.
    """

    y: Tensor
    a: Tensor
    step: int
    epoch: int
    environment: Tensor | None = None
    soft: Tensor | None = None


@dataclass(frozen=True)
class Task:
    """What a method may use of the data before training: sizes only.

    `rows` (K, A) counts the training rows by observed label and attribute; without it every group counts as present.
    """

    n_classes: int
    n_attributes: int
    rows: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True)
class Stage:
    """One training from the initial weights; the last stage is the one that is kept.

    Rows that the previous stage got wrong are visited `copies_of_errors` more times in each epoch. `followed` says that
    another stage comes after it, so that its last epoch counts.
    """

    epochs: int
    copies_of_errors: int = 0
    followed: bool = False


@dataclass(frozen=True)
class Method(Configurable, ABC):
    """One loss. No device, optimiser or logging code belongs here."""

    whole_batch: ClassVar[bool] = False
    """Whether the loss is not a mean over rows, so that processes that share a batch exchange their logits first."""

    soft_labels: ClassVar[bool] = False
    """Whether the loss can be that of probabilities in place of labels."""

    def start(self, task: Task) -> State:
        """The state before the first step; empty by default."""
        return {}

    @abstractmethod
    def loss(self, outputs: Outputs, batch: Batch, state: State) -> Tensor:
        """The scalar to minimise on this batch; may update `state` in place."""

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        """The trainings this method consists of; one by default."""
        return (Stage(epochs),)

    def resets_optimizer(self, step: int) -> bool:
        """Whether the optimiser forgets its momentum before this step."""
        return False
