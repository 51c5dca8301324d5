"""Features of a student that is taught by a probe of the target environment.

1. Probe: balanced logistic regressions on the target split, on the initial features or on initial and trained ones,
   whichever does better on held-out halves of it.
2. Teach: the probe predicts a label ŷ(x) for every training input; the observed labels are put aside.
3. Train: a fresh copy of the initial model on (x, ŷ); or, with soft labels, on the probabilities P_probe(k | x),

       min −(1/n) Σ_i Σ_k P_probe(k | x_i) · log softmax(logits_i)[k].

The observed labels follow the shortcut wherever the shortcut has less noise than the core. The probe was fitted where
the shortcut tells nothing, so that its errors do not follow it, and the student can only fit them through the core.

When not to use: where the target split is so small that the probe is hardly better than chance; or where the observed
labels are clean with respect to the core, since the student then learns from a worse teacher than the labels are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ftt import registry
from ftt.arrays import Float32Array, FloatArray
from ftt.errors import FttError
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
    needs: ClassVar[tuple[str, ...]] = ("trained", "taught")
    uses_target: ClassVar[bool] = True

    teacher: str = param(
        "auto",
        help="features the teacher probes; auto: those that probe better on held-out halves of the target split",
        choices=("auto", "initial", "both"),
    )
    rounds: int = param(1, help="a later round is taught by a probe that also sees the student before", low=1, high=5)
    by: str = param("erm", help="method by name")
    labels: str = param(
        "hard", help="train on the teacher's answers, or on its probabilities", choices=("hard", "soft"), added=True
    )

    @property
    def trainings(self) -> tuple[str, ...]:
        """A teacher that probes the initial features needs no network trained on the observed labels."""
        return tuple(name for name in self.needs if name != "trained" or self.teacher != "initial")

    def fit(self, job: Job) -> Block:
        seen = self._best([blocks for name, blocks in self._choices(job) if self.teacher in ("auto", name)], job)
        for _ in range(self.rounds):
            answers = self.teach(job, seen)
            soft = self._softened(answers) if self.labels == "soft" else None
            taught = replace(job.split, y=answers.argmax(axis=1), soft=soft)
            seen = [*seen, replace(job, split=taught).train_alone(self.by)]
        return seen[-1]

    def _softened(self, answers: FloatArray) -> Float32Array:
        if not registry.METHODS.get(self.by).soft_labels:
            raise FttError(
                "the method cannot train on probabilities of labels",
                given=f"labels soft, by {self.by}",
                allowed="labels hard, or by erm",
            )
        return answers.astype(np.float32)

    def teach(self, job: Job, seen: list[Block]) -> FloatArray:
        """(n, K) probabilities of the labels of the training rows, from what was seen so far."""
        return self._probe(job, seen)[1]

    def _choices(self, job: Job) -> list[tuple[str, list[Block]]]:
        initial = job.initial_block()
        if self.teacher == "initial":
            return [("initial", [initial])]
        return [("initial", [initial]), ("both", [initial, job.train_alone(self.by)])]

    def _best(self, choices: list[list[Block]], job: Job) -> list[Block]:
        return choices[0] if len(choices) == 1 else max(choices, key=lambda blocks: self._probe(job, blocks)[0])

    def _probe(self, job: Job, blocks: list[Block]) -> tuple[float, FloatArray]:
        """Held-out score of a probe of the target split on these features, and its answers for the training rows."""
        target = job.require_target("taught")
        scaled = [job.to_unit_variance(block) for block in blocks]
        there, here = (job.features(scaled, split) for split in (target, job.split))
        probe = DFRProbe(random_state=job.seed).fit(there, target.y, attribute=target.a)
        return probe.worst_by_C_[probe.C_], aligned(probe, here, job.task.n_classes)


def aligned(probe: DFRProbe, phi: FloatArray | Float32Array, n_classes: int) -> FloatArray:
    """(n, K) probabilities; a class that the target split lacks has none."""
    answers = np.zeros((len(phi), n_classes))
    answers[:, probe.classes_.astype(np.int64)] = probe.predict_proba(phi)
    return answers
