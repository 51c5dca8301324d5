"""The demo: the paper's claim on real data in one small table.

Two noise settings, three kinds of features. Where the core is noisier than the shortcut, plain training must harm and
Freeze then Train must not; where it is cleaner, both must help.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ftt.paper.experiment import Request
from ftt.progress import say
from ftt.recipe import preset
from ftt.result import Result
from ftt.runs.runner import run_spec
from ftt.spec import Spec
from ftt.store import Home

Noises = tuple[float, float]
"""Core and spurious noise."""

SETTINGS: tuple[Noises, ...] = ((0.20, 0.0), (0.0, 0.20))
RECIPES = {"init": "initial features", "erm": "ERM", "ftt": "FTT, p = 0.25"}
DATASETS = ("dominoes", "digits")


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
    """One line of the demo."""

    noises: Noises
    recipe: str
    result: Result
    gain: float | None

    @property
    def claim(self) -> Claim | None:
        return CLAIMS.get((self.noises, self.recipe))


def specs(dataset: str) -> list[tuple[Noises, str, Spec]]:
    """The six runs, in the order of the table: what `ftt run` does with the same names and noises."""
    request = Request(dataset=dataset, seeds=1)
    return [
        (noises, name, request.specs(preset(name), core_noise=noises[0], spurious_noise=noises[1])[0])
        for noises in SETTINGS
        for name in RECIPES
    ]


def run_demo(dataset: str, home: Home) -> list[DemoRow]:
    """Run what is missing and return all six rows."""
    listed = specs(dataset)
    rows: list[DemoRow] = []
    initial: dict[Noises, float] = {}
    for number, (noises, name, spec) in enumerate(listed, start=1):
        core, spurious = noises
        say(f"run {number}/{len(listed)}: {RECIPES[name]} at core noise {core:.0%}, spurious noise {spurious:.0%}")
        result = run_spec(spec, home)
        worst = result.worst_group_accuracy
        initial.setdefault(noises, worst)
        rows.append(DemoRow(noises, name, result, None if name == "init" else worst - initial[noises]))
    return rows


def verdict(rows: Sequence[DemoRow]) -> str:
    """How many of the paper's directions showed, in one sentence."""
    checked = [(row.claim, row.gain) for row in rows if row.claim is not None and row.gain is not None]
    held = sum(claim.holds(gain) for claim, gain in checked)
    return f"{held} of {len(checked)} of the paper's directions showed (one training seed)"
