"""Features of a student with two teachers: a probe of the target split, and a network fine-tuned on it.

As `taught`, with the mean of two probabilities in place of one: of the probe, which knows the initial features and
those that training on observed labels gave, and of a network whose every layer was trained on the target split. Where
the observed labels are clean the probe of trained features is the better teacher, where the shortcut has no noise the
fine-tuned network is; their errors differ, and neither follows the shortcut.

    ŷ(x) = argmax_k ½·(P_probe(k | x) + P_target(k | x)).

With ``teacher="initial"`` (the recipe ``target-taught``) nothing is trained on the observed labels, which saves one of
three trainings; it gives up what they know about the core where they are cleaner than the teachers.

When not to use: with a few hundred target rows or fewer, which a network remembers instead of learning from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import softmax

from ftt.arrays import FloatArray
from ftt.sources.target import Target
from ftt.sources.taught import Taught

if TYPE_CHECKING:
    from ftt.train.fitting import Job
    from ftt.train.model import Block


@dataclass(frozen=True)
class TwoTeachers(Taught):
    """Features of a network trained on labels that a target probe and a fine-tuned network predict together."""

    name: ClassVar[str] = "two-teachers"
    needs: ClassVar[tuple[str, ...]] = ("trained", "target", "two-teachers")

    @property
    def title(self) -> str:
        return "target-taught" if self.teacher == "initial" else self.name

    def teach(self, job: Job, seen: list[Block]) -> FloatArray:
        logits = job.features([job.own_head(Target(by=self.by).fit(job))], job.split).astype(np.float64)
        tuned: FloatArray = softmax(logits, axis=1)
        return (super().teach(job, seen) + tuned) / 2
