"""Features of a network fine-tuned on the target split itself: what a practitioner would try first.

Batches hold equally many rows of every attribute value, so that the shortcut tells nothing. The same rows are probed
afterwards, on features that have seen their labels: the probe's own choice of C is then too confident, and with few
rows the network remembers them. With `head` the probe sees the logits of the network's own head only, which it can
weigh and shift but not refit. When not to use: with a few hundred target rows or fewer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ftt.params import param
from ftt.sources.source import Source

if TYPE_CHECKING:
    from ftt.train.fitting import Job
    from ftt.train.model import Block


@dataclass(frozen=True)
class Target(Source):
    """Features of a network trained on the target split, balanced over the attribute."""

    name: ClassVar[str] = "target"
    needs: ClassVar[tuple[str, ...]] = ("target",)
    uses_target: ClassVar[bool] = True

    by: str = param("erm", help="method by name")
    head: bool = param(False, help="the logits of its own head in place of its features", added=True)

    @property
    def title(self) -> str:
        return "target-head" if self.head else self.name

    def fit(self, job: Job) -> Block:
        target = job.require_target("target")
        training = job.training.replace(sampling="per-attribute")
        block = replace(job, split=target, training=training).train_alone(self.by)
        return job.own_head(block) if self.head else block
