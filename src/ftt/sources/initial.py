"""All features of the initial model, as they are.

When not to use: nothing speaks against probing them; alone they cannot gain what training would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ftt.sources.source import Source

if TYPE_CHECKING:
    from ftt.train.fitting import Job
    from ftt.train.model import Block


@dataclass(frozen=True)
class Initial(Source):
    """φ(x) before any training."""

    name: ClassVar[str] = "initial"

    def fit(self, job: Job) -> Block:
        return job.initial_block()
