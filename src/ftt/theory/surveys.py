"""Every statement against measurement, over many random settings: the content of `ftt theory bounds`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ftt.errors import FttError
from ftt.progress import track
from ftt.theory.limits import MAX_SEED, need_count, need_number
from ftt.theory.setting import Setting, random_setting
from ftt.theory.statements import ORDER, Check, Sense, Trial

MAX_TRIALS = 10_000
COST = "half a second for each setting and start"


@dataclass(frozen=True)
class Line:
    """One statement over all settings."""

    statement: str
    sense: Sense
    checked: int
    held: int
    median_measured: float
    median_bound: float


@dataclass(frozen=True)
class Survey:
    """All checks of a survey."""

    settings: Sequence[Setting]
    seeds: int
    checks: Sequence[Check]

    @property
    def lines(self) -> list[Line]:
        """One line per statement, in the paper's order."""
        groups: dict[tuple[str, Sense], list[Check]] = {}
        for check in self.checks:
            groups.setdefault((check.statement, check.sense), []).append(check)
        return [
            Line(
                statement,
                sense,
                len(group),
                sum(check.holds for check in group),
                float(np.median([check.measured for check in group])),
                float(np.median([check.bound for check in group])),
            )
            for (statement, sense), group in sorted(groups.items(), key=lambda item: _place(item[0][0]))
        ]

    def line(self, statement: str) -> Line:
        """The line of one statement."""
        return next(line for line in self.lines if line.statement == statement)

    def to_json(self) -> dict[str, Any]:
        return {
            "settings": [setting.describe() for setting in self.settings],
            "summary": [asdict(line) for line in self.lines],
            "checks": [{**asdict(check), "holds": check.holds} for check in self.checks],
        }


def random_settings(count: int, seeds: int = 1, first: int = 0) -> list[Setting]:
    """`count` random valid settings with the seeds first, first + 1, …, to be surveyed from `seeds` starts each."""
    need_number("seed", first, 0, MAX_SEED - MAX_TRIALS)
    for name, number in (("settings", count), ("seeds", seeds)):
        need_count(name, number, MAX_TRIALS, COST)
    need_count("settings × seeds", count * seeds, MAX_TRIALS, COST)
    return [random_setting(first + i) for i in range(count)]


def survey(settings: Sequence[Setting], seeds: int = 1, *, tolerance: float = 1e-7) -> Survey:
    """Check every statement that applies in every setting, from `seeds` starts each.

    Examples
    --------
    >>> found = survey(random_settings(1))
    >>> found.line("Theorem 3, p·m = k").held
    1
    """
    jobs = [(i, setting, seed) for i, setting in enumerate(settings) for seed in range(seeds)]
    if not jobs:
        raise FttError("nothing to survey", given=f"{len(settings)} settings, {seeds} seeds", allowed="one of each")
    checks: list[Check] = []
    for i, setting, seed in track(jobs, "checking the statements", len(jobs)):
        found = Trial(setting, seed, tolerance).checks()
        checks += [replace(check, setting=i, seed=seed) for check in found]
    return Survey(settings, seeds, checks)


def _place(statement: str) -> int:
    return next((i for i, prefix in enumerate(ORDER) if statement.startswith(prefix)), len(ORDER))
