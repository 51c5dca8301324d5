"""The contract of a source: one block of features, made from what a fit has at hand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ftt.params import Configurable, Json

if TYPE_CHECKING:
    from ftt.train.fitting import Job
    from ftt.train.model import Block
    from ftt.train.two_branch import TwoBranch


@dataclass(frozen=True)
class Start:
    """New layers that do not start at random: what sets them, and what tells them apart in the key of a training."""

    identity: Json
    put_into: Callable[[TwoBranch], None]


@dataclass(frozen=True)
class Source(Configurable, ABC):
    """One block of features.

    Every training it asks for is kept under its own key, so that recipes which need the same one share it.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    """Names of the trainings that sources of this kind need."""

    uses_target: ClassVar[bool] = False
    """Whether it looks at the target split, with its observed labels; the test split is never in reach."""

    @property
    def trainings(self) -> tuple[str, ...]:
        """Names of the trainings it needs; recipes that name the same one share it."""
        return self.needs

    @property
    def title(self) -> str:
        """What recipes of different names are told apart by."""
        return self.name

    @abstractmethod
    def fit(self, job: Job) -> Block:
        """The fitted block."""

    def blocks(self, job: Job) -> list[Block]:
        """Its blocks, for sources that may have several."""
        return [self.fit(job)]
