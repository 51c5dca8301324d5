"""What would be done: trainings and features that runs need, each once, less what is in the store, and how long."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ftt.params import Json
from ftt.report.tables import TextTable
from ftt.runs.time_estimate import Work, in_words, works
from ftt.spec import Run, Spec, identify
from ftt.store import Home

if TYPE_CHECKING:
    from pandas import DataFrame

GPU = 10e12
"""Operations per second that one GPU is taken to sustain in 32 bits: about half of what an A100 is sold with."""


@dataclass(frozen=True)
class Plan:
    """What runs would compute.

    Attributes
    ----------
    runs, finished : int
        Different runs, and how many of them have a result.
    works : tuple of Work
        Features and trainings of the others, each once.
    probing : float, optional
        Seconds of probing, from stored runs on the same data; None if there are none.
    workers : int
        Runs at a time.
    """

    runs: int
    finished: int
    works: tuple[Work, ...]
    probing: float | None
    workers: int = 1

    @property
    def trainings(self) -> list[Work]:
        """The trainings that are still to be done."""
        return [work for work in self.works if work.kind == "training" and not work.stored]

    @property
    def seconds(self) -> float:
        """About how long it takes on this machine."""
        left = [work.seconds for work in self.works if not work.stored]
        # One training is not divided between workers.
        shared = (sum(left) + (self.probing or 0.0)) / self.workers
        return max([shared, *left])

    @property
    def gpu_seconds(self) -> float:
        """About how long features and trainings take on one GPU, one after another."""
        return sum(work.operations for work in self.works if not work.stored) / GPU

    def table(self) -> TextTable:
        """One row for everything to compute."""
        rows = [
            [work.kind, work.name, "–" if work.stored else in_words(work.seconds), _state(work)] for work in self.works
        ]
        return TextTable("", ("what", "of", "about", "state"), rows, left=2)

    def sentences(self) -> list[str]:
        """The plan in words."""
        found = [f"{_count(self.runs, 'run')}, {self.finished} of them already in the store"]
        if self.finished == self.runs:
            return found
        all_trainings = [work for work in self.works if work.kind == "training"]
        kept = len(all_trainings) - len(self.trainings)
        resumed = sum(work.resumes for work in self.trainings)
        words = [f"{_count(len(self.trainings), 'training')} to do"]
        words += [f"{kept} in the store"] if kept else []
        words += [f"{resumed} resumed from a checkpoint"] if resumed else []
        found.append(", ".join(words))
        more = "probing is not included" if self.probing is None else "probing included"
        at_a_time = f", {self.workers} runs at a time" if self.workers > 1 else ""
        found.append(f"about {in_words(self.seconds)} on this machine{at_a_time} ({more})")
        if self.gpu_seconds:
            found.append(f"about {in_words(self.gpu_seconds)} on one GPU ({GPU / 1e12:g} TFLOP/s sustained)")
        return found

    def to_json(self) -> dict[str, Json]:
        return {
            "runs": self.runs,
            "finished": self.finished,
            "trainings": len(self.trainings),
            "seconds": round(self.seconds, 3),
            "gpu_seconds": round(self.gpu_seconds, 3),
            "probing_included": self.probing is not None,
            "workers": self.workers,
            "works": [asdict(work) for work in self.works],
        }

    def to_frame(self) -> DataFrame:
        """One row for everything to compute."""
        import pandas

        return pandas.DataFrame([asdict(work) for work in self.works])

    def _repr_html_(self) -> str:
        return self.table().to_html() + "".join(f"<p>{sentence}</p>" for sentence in self.sentences())

    def __str__(self) -> str:
        return "\n".join([*([self.table().to_markdown()] if self.works else []), *self.sentences()])


def plan(specs: Sequence[Spec], home: Home, workers: int = 1) -> Plan:
    """What it would take to run these Specs, without running any; a few steps are timed."""
    runs = list({run.key: run for run in identify(specs, home.roots)}.values())
    pending = [run for run in runs if home.runs.find(run) is None]
    todo = tuple(works([run.spec for run in pending], home))
    return Plan(len(runs), len(runs) - len(pending), todo, _probing(pending, home), workers)


def _probing(pending: Sequence[Run], home: Home) -> float | None:
    """Seconds that stored runs on the same data and backbone took to probe as many seeds, summed over these runs."""
    measured: dict[tuple[object, ...], list[float]] = {}
    for result in home.runs.results():
        spec = result["spec"]
        kind = (spec["data"]["name"], spec["backbone"], spec["probe"]["seeds"])
        measured.setdefault(kind, []).append(result["seconds"].get("probe", 0.0))
    total = 0.0
    for run in pending:
        kind = (run.spec.data.name, run.spec.backbone, run.spec.probe.seeds)
        if kind not in measured:
            return None
        total += statistics.median(measured[kind])
    return total


def _state(work: Work) -> str:
    return "in the store" if work.stored else "resumed" if work.resumes else "to do"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
