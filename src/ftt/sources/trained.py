"""All features of a network trained alone on the observed labels: the ERM training that other recipes share.

Side by side with the initial features this is rich-feature concatenation (Zhang and Bottou, *Learning useful
representations for shifting tasks and distributions*, ICML 2023) with the initial model as the second network. When not
to use: alone, where labels are noisier with respect to the core than with respect to the shortcut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ftt.params import param
from ftt.sources.source import Source

if TYPE_CHECKING:
    from ftt.train.fitting import Job
    from ftt.train.model import Block


@dataclass(frozen=True)
class TrainedAlone(Source):
    """Features of a network trained by a method without its parameters changed."""

    name: ClassVar[str] = "trained"
    needs: ClassVar[tuple[str, ...]] = ("trained",)

    by: str = param("erm", help="method by name")

    def fit(self, job: Job) -> Block:
        return job.train_alone(self.by)
