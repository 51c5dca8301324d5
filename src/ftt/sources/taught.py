"""Features of a student that is taught by a probe of the target environment.

1. Probe: balanced logistic regressions on the target split, on the initial features or on initial and trained ones,
   whichever does better on held-out halves of it.
2. Teach: the probe predicts a label ŷ(x) for every training input; the observed labels are put aside.
3. Train: a fresh copy of the initial model on (x, ŷ).

The observed labels follow the shortcut wherever the shortcut has less noise than the core. The probe was fitted where
the shortcut tells nothing, so that its errors do not follow it, and the student can only fit them through the core.

When not to use: where the target split is so small that the probe is hardly better than chance; or where the observed
labels are clean with respect to the core, since the student then learns from a worse teacher than the labels are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ftt.arrays import IntArray
from ftt.params import param
from ftt.probe import DFRProbe
from ftt.sources.source import Source

if TYPE_CHECKING:
    from ftt.train.fitting import Job
    from ftt.train.model import Block


@dataclass(frozen=True)
class Taught(Source):
    """Features of a network trained on the labels that a probe of the target split predicts."""

    name: ClassVar[str] = "taught"
    trainings: ClassVar[tuple[str, ...]] = ("trained", "taught")
    uses_target: ClassVar[bool] = True

    teacher: str = param(
        "auto",
        help="features the teacher probes; auto: those that probe better on held-out halves of the target split",
        choices=("auto", "initial", "both"),
    )
    rounds: int = param(1, help="a later round is taught by a probe that also sees the student before", low=1, high=5)
    by: str = param("erm", help="method by name")

    def fit(self, job: Job) -> Block:
        seen = self._best([blocks for name, blocks in self._choices(job) if self.teacher in ("auto", name)], job)
        for _ in range(self.rounds):
            labels = self._probe(job, seen)[1]
            seen = [*seen, replace(job, split=replace(job.split, y=labels)).train_alone(self.by)]
        return seen[-1]

    def _choices(self, job: Job) -> list[tuple[str, list[Block]]]:
        initial = job.initial_block()
        if self.teacher == "initial":
            return [("initial", [initial])]
        return [("initial", [initial]), ("both", [initial, job.train_alone(self.by)])]

    def _best(self, choices: list[list[Block]], job: Job) -> list[Block]:
        return choices[0] if len(choices) == 1 else max(choices, key=lambda blocks: self._probe(job, blocks)[0])

    def _probe(self, job: Job, blocks: list[Block]) -> tuple[float, IntArray]:
        """Held-out score of a probe of the target split on these features, and its labels for the training rows."""
        target = job.require_target("taught")
        scaled = [job.to_unit_variance(block) for block in blocks]
        there, here = (job.features(scaled, split) for split in (target, job.split))
        probe = DFRProbe(random_state=job.seed).fit(there, target.y, attribute=target.a)
        labels: IntArray = probe.predict(here).astype(np.int64)
        return probe.worst_by_C_[probe.C_], labels
