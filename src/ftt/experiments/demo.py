"""The demo: the paper's claim on real data in one small table.

Two noise settings, three kinds of features. Where the core is noisier than the shortcut, plain training must harm and
Freeze then Train must not; where it is cleaner, both must help.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ftt.data import Dataset, Roots
from ftt.data.digits import Digits
from ftt.data.dominoes import Dominoes
from ftt.experiments.runner import run
from ftt.params import Json
from ftt.progress import say
from ftt.spec import Spec, Training
from ftt.store import Home
from ftt.train import preset

SETTINGS = ((0.20, 0.0), (0.0, 0.20))
RECIPES = {"init": "initial features", "erm": "ERM", "ftt": "FTT, p = 0.25"}


@dataclass(frozen=True)
class Claim:
    """What a recipe must do to the worst group against the initial features, in points."""

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
class Row:
    """One line of the demo."""

    setting: tuple[float, float]
    recipe: str
    result: dict[str, Json]
    gain: float | None

    @property
    def claim(self) -> Claim | None:
        return CLAIMS.get((self.setting, self.recipe))


def specs(dataset: str) -> list[tuple[tuple[float, float], str, Spec]]:
    """The six runs, in the order of the table."""
    listed = []
    for core, spurious in SETTINGS:
        data: Dataset
        if dataset == "dominoes":
            data, backbone = Dominoes(core_noise=core, spurious_noise=spurious, train_size=5000), "lite0"
            training = data.default_training
        else:
            data, backbone = Digits(core_noise=core, spurious_noise=spurious), "tinyconv"
            training = Training(epochs=40, lr=0.05)
        for name in RECIPES:
            recipe = preset(name)
            spec = Spec(
                data=data,
                backbone=backbone,
                freeze=recipe.freeze,
                method=recipe.method,
                train=training,
            )
            listed.append(((core, spurious), name, spec))
    return listed


def run_demo(dataset: str, home: Home, roots: Roots) -> list[Row]:
    """Run what is missing and return all six rows."""
    listed = specs(dataset)
    done = sum(home.runs.find(spec) is not None for *_, spec in listed)
    say(f"{len(listed)} runs, {done} of them are in the store already")
    rows: list[Row] = []
    initial: dict[tuple[float, float], float] = {}
    for number, (setting, name, spec) in enumerate(listed, start=1):
        core, spurious = setting
        say(f"run {number}/{len(listed)}: {RECIPES[name]} at core noise {core:.0%}, spurious noise {spurious:.0%}")
        result = run(spec, home, roots)
        worst = result["worst_group_accuracy"]
        initial.setdefault(setting, worst)
        rows.append(Row(setting, name, result, None if name == "init" else worst - initial[setting]))
    return rows


def verdict(rows: Sequence[Row]) -> str:
    """How many of the paper's directions showed, in one sentence."""
    checked = [(row.claim, row.gain) for row in rows if row.claim is not None and row.gain is not None]
    held = sum(claim.holds(gain) for claim, gain in checked)
    return f"{held} of {len(checked)} of the paper's directions showed (one training seed)"
