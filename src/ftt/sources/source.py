"""The contract of a source: one block of features, made from what a fit has at hand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ftt.params import Configurable

if TYPE_CHECKING:
    from ftt.train.fitting import Job
    from ftt.train.model import Block


@dataclass(frozen=True)
class Source(Configurable, ABC):
    """One block of features.

    Every training it asks for is kept under its own key, so that recipes which need the same one share it.
    """

    trainings: ClassVar[tuple[str, ...]] = ()
    """Names of the trainings it needs; recipes that name the same one share it."""

    uses_target: ClassVar[bool] = False
    """Whether it looks at the target split, with its observed labels; the test split is never in reach."""

    @abstractmethod
    def fit(self, job: Job) -> Block:
        """The fitted block."""
