"""The features chosen for the user: initial, trained, or both side by side, by what a probe makes of them.

One training, the ERM one that other recipes share. Each choice is probed on the target split by the protocol of
`ftt.probe`, and the one with the best worst group on held-out halves is kept; ties keep the earlier of initial, both,
trained. No test label is in reach, and the observed labels of the target split are as noisy as they are: noise lowers
all three scores alike.

When not to use: with so few target rows that held-out halves rank by luck; and where a second training is affordable,
``two-teachers`` and ``all-three`` are better on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ftt.arrays import FloatArray, IntArray
from ftt.params import param
from ftt.probe import DFRProbe, fit_together
from ftt.progress import say
from ftt.sources.source import Source

if TYPE_CHECKING:
    from ftt.train.fitting import Job
    from ftt.train.model import Block

PROBES = 5
"""Probe seeds whose held-out scores are averaged: one alone ranks close choices by its draw."""


@dataclass(frozen=True)
class Auto(Source):
    """Initial features, trained ones or both: whichever probes best on held-out halves of the target split."""

    name: ClassVar[str] = "auto"
    needs: ClassVar[tuple[str, ...]] = ("trained",)
    uses_target: ClassVar[bool] = True

    by: str = param("erm", help="method by name")

    def fit(self, job: Job) -> Block:
        """The last block of the choice; `blocks` has all of them."""
        return self.blocks(job)[-1]

    def blocks(self, job: Job) -> list[Block]:
        initial, trained = job.initial_block(), job.train_alone(self.by)
        target = job.require_target("auto")
        choices = {"initial": [initial], "both": [initial, trained], "trained": [trained]}
        scores = {
            name: held_out_score(job.features(job.side_by_side(blocks), target), target.y, target.a)
            for name, blocks in choices.items()
        }
        chosen = max(scores, key=lambda name: scores[name])
        held_out = ", ".join(f"{name} {score:.1%}" for name, score in scores.items())
        say(f"auto: {chosen} features (worst group on held-out target rows: {held_out})")
        return choices[chosen]


def held_out_score(phi: FloatArray, y: IntArray, a: IntArray | None, seed: int = 0) -> float:
    """Mean over probe seeds of the best worst-group accuracy on held-out halves.

    With the seeds of the probes that `ftt run` reports, so that the choice can be read off stored runs.
    """
    probes = fit_together([DFRProbe(random_state=seed + k) for k in range(PROBES)], phi, y, attribute=a)
    return float(np.mean([probe.worst_by_C_[probe.C_] for probe in probes]))
