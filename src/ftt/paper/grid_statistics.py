"""Statistics of the grid of both noises that say what they rest on: strata, paired intervals, single runs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ftt.paired import Difference, Judgement, mean_difference
from ftt.paper.result_table import WORST
from ftt.report.tables import TextTable, signed

INITIAL, ERM, FTT = "initial features", "ERM", "FTT, p = 0.25"


class Accuracies(Protocol):
    """What the statistics need of a table: accuracies by cell and seed, and what was right on which test row."""

    def gain(self, row: str, over: str, column: str, metric: str = WORST) -> float | None: ...
    def values(self, row: str, column: str, metric: str = WORST) -> dict[int, float]: ...
    def judgements(self, row: str, column: str) -> list[Judgement]: ...


Setting = tuple[float, float]
"""Core noise and spurious noise."""

STRATA: dict[str, Callable[[float, float], bool]] = {
    "all": lambda core, spurious: True,
    "η_spu = 0": lambda core, spurious: spurious == 0,
    "η_spu > 0": lambda core, spurious: spurious > 0,
    "η_core > η_spu = 0": lambda core, spurious: core > spurious == 0,
    "η_core > η_spu > 0": lambda core, spurious: core > spurious > 0,
    "η_core = η_spu > 0": lambda core, spurious: core == spurious > 0,
    "η_core < η_spu": lambda core, spurious: core < spurious,
}
"""A shortcut without any noise is a population of its own, so no mean is taken over it and the others alone."""


def at(core: float, spurious: float) -> str:
    """The name of a noise setting."""
    return f"core {core:.0%}, spurious {spurious:.0%}"


@dataclass(frozen=True)
class Contrast:
    """One row of the grid minus another over some settings, worst group, in shares.

    `interval` is that of the mean, by paired bootstrap over test rows and seeds; None where predictions were not kept.
    """

    gains: dict[Setting, float]
    interval: Difference | None

    @property
    def mean(self) -> float:
        return statistics.fmean(self.gains.values())

    @property
    def below(self) -> int:
        """Number of settings in which the first row is below the second."""
        return sum(gain < 0 for gain in self.gains.values())

    @property
    def largest(self) -> Setting:
        return max(self.gains, key=lambda place: self.gains[place])

    @property
    def smallest(self) -> Setting:
        return min(self.gains, key=lambda place: self.gains[place])


def contrast(table: Accuracies, row: str, over: str, settings: Sequence[Setting]) -> Contrast | None:
    """The contrast of two rows over the settings that both have; None where there are none."""
    gains = {place: gain for place in settings if (gain := table.gain(row, over, at(*place))) is not None}
    if not gains:
        return None
    pairs = [_paired(table.judgements(row, at(*place)), table.judgements(over, at(*place))) for place in gains]
    return Contrast(gains, mean_difference(pairs) if all(first for first, _ in pairs) else None)


def _paired(first: list[Judgement], second: list[Judgement]) -> tuple[list[Judgement], list[Judgement]]:
    """The runs of both whose training seed the other has too, in the order of the seeds."""
    one, other = ({run.seed: run for run in runs} for runs in (first, second))
    seeds = sorted(one.keys() & other.keys())
    return [one[seed] for seed in seeds], [other[seed] for seed in seeds]


def settings_of(values: Sequence[float], stratum: str = "all") -> list[Setting]:
    """The settings of a grid that belong to a stratum."""
    return [(core, spurious) for core in values for spurious in values if STRATA[stratum](core, spurious)]


def strata_table(table: Accuracies, values: Sequence[float], row: str, over: str) -> TextTable:
    """The contrast of two rows in every stratum."""
    rows = []
    for stratum in STRATA:
        found = contrast(table, row, over, settings_of(values, stratum))
        if found is None:
            continue
        known = found.interval
        rows.append(
            [
                stratum,
                str(len(found.gains)),
                signed(found.mean),
                "–" if known is None else f"{signed(known.low)} to {signed(known.high)}",
                f"{found.below} of {len(found.gains)}",
                f"{signed(found.gains[found.smallest])} to {signed(found.gains[found.largest])}",
            ]
        )
    columns = ["settings", "number", "mean", "95 % interval", "below 0", "range of the settings"]
    return TextTable(f"{row} − {over} by stratum, worst group, points", columns, rows)


def rank_correlation(table: Accuracies, values: Sequence[float]) -> float | None:
    """Spearman's rank correlation of ERM's gain with η_core − η_spu."""
    from scipy.stats import spearmanr

    found = contrast_gains(table, ERM, INITIAL, values)
    if len(found) < 3:
        return None
    # Rounded, or 0.15 − 0.1 and 0.05 − 0 would not be a tie.
    order = [round(core - spurious, 6) for core, spurious in found]
    return float(spearmanr(order, list(found.values())).statistic)


def contrast_gains(table: Accuracies, row: str, over: str, values: Sequence[float]) -> dict[Setting, float]:
    """Gains of one row over another in every setting that has both."""
    places = settings_of(values)
    return {place: gain for place in places if (gain := table.gain(row, over, at(*place))) is not None}


def worst_single_run(table: Accuracies, row: str, over: str, values: Sequence[float]) -> tuple[float, Setting] | None:
    """The smallest difference of two runs of one seed, and where it is."""
    found = [
        (value - base[seed], place)
        for place in settings_of(values)
        for base in [table.values(over, at(*place))]
        for seed, value in table.values(row, at(*place)).items()
        if seed in base
    ]
    return min(found) if found else None


def seeds_in_words(table: Accuracies, values: Sequence[float]) -> str:
    """How many training seeds the settings have.

    Settings are counted by the smallest number of seeds of the three rows.
    """
    counts: dict[int, int] = {}
    for place in settings_of(values):
        seeds = min(len(table.values(row, at(*place))) for row in (INITIAL, ERM, FTT))
        counts[seeds] = counts.get(seeds, 0) + 1
    if len(counts) == 1:
        return f"{next(iter(counts))} training seed{'s' * (next(iter(counts)) != 1)} in every setting"
    return "training seeds: " + ", ".join(f"{n} in {counts[n]} settings" for n in sorted(counts))
