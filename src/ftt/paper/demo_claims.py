"""The demo: the paper's claim on real data in one small table.

Two noise settings, three kinds of features. Where the core is noisier than the shortcut, plain training must harm and
Freeze then Train must not; where it is cleaner, both must help.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ftt.recipe import preset
from ftt.report.tables import seed_interval
from ftt.result import Result
from ftt.settings import UNCHANGED, Changes, setting
from ftt.spec import Run, Spec

Noises = tuple[float, float]
"""Core and spurious noise."""

SETTINGS: tuple[Noises, ...] = ((0.20, 0.0), (0.0, 0.20))
RECIPES = {"init": "initial features", "erm": "ERM", "ftt": "FTT, p = 0.25"}
DATASETS = ("dominoes", "digits")

LINES = len(SETTINGS) * len(RECIPES)
"""Lines of the table."""

RUNNING_ORDER = ("init", "ftt", "erm")
"""The first row comes in seconds, and of trainings the longer one comes first: so both cores are busy to the end."""

SMALL: Mapping[tuple[str, Noises], Changes] = {
    ("dominoes", (0.20, 0.0)): Changes(data={"train_size": 2000}, train={"epochs": 2}),
}
"""What is smaller without ``--full``. Training destroys the core within two epochs, but learning it takes all four."""

SEEDS = {"dominoes": 1, "digits": 5}
"""Training seeds. On 640 digits it depends on the seed whether ERM learns the shortcut, so their mean is shown."""


@dataclass(frozen=True)
class Claim:
    """What a recipe must do to the worst group compared with the initial features, in shares."""

    paper: str
    low: float = -1.0
    high: float = 1.0

    def holds(self, gain: float) -> bool:
        return self.low <= gain <= self.high


CLAIMS = {
    ((0.20, 0.0), "erm"): Claim("harms: down to −12", high=-0.05),
    ((0.20, 0.0), "ftt"): Claim("does not harm", low=-0.02),
    ((0.0, 0.20), "erm"): Claim("helps: +6.7", low=0.05),
    ((0.0, 0.20), "ftt"): Claim("helps", low=0.02),
}
"""The paper's Figure 1 and Section 5.2, as directions with a margin."""


@dataclass(frozen=True)
class DemoRow:
    """One line of the demo.

    Attributes
    ----------
    gain : float, optional
        Worst-group accuracy minus that of the initial features, in shares; None for the initial features themselves.
    repeats : tuple of Result
        The same run with further training seeds.
    """

    noises: Noises
    recipe: str
    result: Result
    gain: float | None
    repeats: tuple[Result, ...] = ()

    @property
    def claim(self) -> Claim | None:
        return CLAIMS.get((self.noises, self.recipe))

    @property
    def results(self) -> tuple[Result, ...]:
        return (self.result, *self.repeats)

    @property
    def worst(self) -> float:
        return fmean(result.worst_group_accuracy for result in self.results)

    @property
    def average(self) -> float:
        return fmean(result.average_accuracy for result in self.results)

    def interval(self) -> tuple[float, float]:
        """95 % interval of the worst group: over test images, or over training seeds where there are several."""
        if not self.repeats:
            return self.result.report.worst[1].interval()
        return seed_interval([result.worst_group_accuracy for result in self.results])


@dataclass(frozen=True)
class Planned:
    """A line of the demo before it is run: one Spec per training seed."""

    noises: Noises
    recipe: str
    specs: tuple[Spec, ...]


def plan(dataset: str, *, full: bool = False) -> list[Planned]:
    """The six lines in the order of the table.

    With ``full`` every run is what `ftt run` does with the same names, noises and seeds; without it, some are `SMALL`.
    """
    table = setting(dataset)

    def specs(noises: Noises, recipe: str) -> tuple[Spec, ...]:
        small = UNCHANGED if full else SMALL.get((dataset, noises), UNCHANGED)
        data = {**small.data, "core_noise": noises[0], "spurious_noise": noises[1]}
        changes = Changes(data=data, train=small.train)
        return tuple(table.spec(preset(recipe), seed=seed, changes=changes) for seed in range(SEEDS[dataset]))

    return [Planned(noises, recipe, specs(noises, recipe)) for noises in SETTINGS for recipe in RECIPES]


def running_order(planned: Sequence[Planned]) -> list[Spec]:
    """All runs in the order in which they are begun."""
    begun = sorted(planned, key=lambda line: (SETTINGS.index(line.noises), RUNNING_ORDER.index(line.recipe)))
    return [spec for line in begun for spec in line.specs]


def images_seen(spec: Spec) -> float:
    """Images that the training of a run sees, compared with other runs on the same data set; 0 without one."""
    if spec.recipe.method is None:
        return 0.0
    return float(spec.train.epochs * getattr(spec.data, "train_size", 1))


class Rows:
    """The lines of the demo as their runs end."""

    def __init__(self, planned: Sequence[Planned]) -> None:
        self.planned = planned
        self._done: dict[Spec, Result] = {}

    def add(self, run: Run, result: Result) -> DemoRow | None:
        """Note a result; the line that is complete with it, if there is one."""
        self._done[run.spec] = result
        return next((self._row(line) for line in self.planned if run.spec in line.specs and self._complete(line)), None)

    def complete(self) -> list[DemoRow]:
        """The lines all of whose runs have ended, in the order of the table."""
        return [self._row(line) for line in self.planned if self._complete(line)]

    def _complete(self, line: Planned) -> bool:
        return all(spec in self._done for spec in line.specs)

    def _row(self, line: Planned) -> DemoRow:
        first, *others = (self._done[spec] for spec in line.specs)
        initial = next(other for other in self.planned if other.noises == line.noises)
        row = DemoRow(line.noises, line.recipe, first, None, tuple(others))
        if line is initial or not self._complete(initial):
            return row
        return DemoRow(line.noises, line.recipe, first, row.worst - self._row(initial).worst, row.repeats)


def judged(rows: Sequence[DemoRow], noises: Noises) -> bool:
    """Whether all claims about one noise setting have been checked."""
    asked = {recipe for where, recipe in CLAIMS if where == noises}
    return asked <= {row.recipe for row in rows if row.noises == noises and row.gain is not None}


def verdict(rows: Sequence[DemoRow]) -> str:
    """How many of the paper's directions showed, in one sentence."""
    checked = [(row.claim, row.gain) for row in rows if row.claim is not None and row.gain is not None]
    if not checked:
        return "none of the paper's directions has been checked yet"
    held = sum(claim.holds(gain) for claim, gain in checked)
    seeds = max((len(row.results) for row in rows), default=1)
    words = "one training seed" if seeds == 1 else f"mean of {seeds} training seeds"
    left = len(CLAIMS) - len(checked)
    return f"{held} of {len(checked)} of the paper's directions showed ({words}{f'; {left} to come' if left else ''})"
