"""The recipe chosen for the user: by the diagnosis, by held-out target score, or always joining, on stored runs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ftt.diagnosis.verdict import CANNOT_TELL, HARMS, HELPS
from ftt.paper.diagnosis_grid import diagnose_setting
from ftt.paper.experiment import Experiment, Findings, Request
from ftt.paper.grid_statistics import Setting, at, settings_of
from ftt.paper.noise_grid import FEW, levels
from ftt.paper.probing_again import probing_again
from ftt.paper.result_table import Cell, ResultTable
from ftt.progress import track
from ftt.recipe import preset
from ftt.report.tables import TextTable, percent, signed
from ftt.result import Result
from ftt.store import Home

FIXED = ("init", "erm", "ftt")
SHARED = ("init", "both", "erm")
"""Recipes of one training, in the order in which ties are decided."""

PENALISED = {
    f"both, block penalties by {words}": {"penalties": "per-block", "criterion": criterion}
    for words, criterion in (("worst group", "worst-group"), ("log-loss", "calibrated-log-loss"))
}
"""The features of ``both`` under other probes: block penalties decide how much of each block is used."""

ONE_TRAINING = (*SHARED, *PENALISED)
JOINED = ("both", *PENALISED, "all-three", "two-teachers")
RECIPES = tuple(dict.fromkeys((*FIXED, *(name for name in JOINED if name not in PENALISED))))
NEEDED = (*FIXED, "both")
"""What a setting and seed must have to be a point of the table."""

BY_DIAGNOSIS = {HELPS: "both", HARMS: "init", CANNOT_TELL: "both"}
AUTO, DIAGNOSED = "auto: by held-out score over init, both, erm", "by the diagnosis: init where it harms, else both"


@dataclass(frozen=True)
class Point:
    """One setting with one training seed: the results of all recipes, and what the diagnosis advises."""

    name: str
    runs: Mapping[str, Result]
    advised: str

    def accuracy(self, recipe: str) -> float | None:
        return self.runs[recipe].worst_group_accuracy if recipe in self.runs else None

    def by_held_out_score(self) -> str:
        """The recipe that `auto` chooses: its probes are those of the runs."""
        return max((name for name in SHARED if name in self.runs), key=lambda name: held_out(self.runs[name]))

    def cost(self, recipes: Sequence[str]) -> float:
        """Time of probing these recipes and of the ERM training, where one needs it, relative to the recipe ``erm``."""
        erm = self.runs["erm"].seconds
        probing = sum(self.runs[name].seconds["probe"] for name in recipes)
        trained = erm["fit"] if set(recipes) != {"init"} else 0.0
        return (trained + probing) / (erm["fit"] + erm["probe"])


def held_out(result: Result) -> float:
    """Mean over probe seeds of the worst-group accuracy on held-out target halves; no test row is read."""
    return statistics.fmean(probe.worst_by_C[probe.C] for probe in result.probes)


def auto_cells(request: Request) -> list[Cell]:
    """What is chosen from, at nine settings."""
    cells = [
        Cell(name, at(core, spurious), request.specs(preset(name), core_noise=core, spurious_noise=spurious))
        for core, spurious in _settings(request)
        for name in RECIPES
    ]
    both = [cell for cell in cells if cell.row == "both"]
    return cells + [probing_again(cell, row, **probing) for cell in both for row, probing in PENALISED.items()]


def _settings(request: Request) -> list[Setting]:
    return settings_of(FEW if request.budget != "smoke" else levels(request))


def auto_findings(table: ResultTable, request: Request, home: Home) -> Findings:
    """Accuracy, regret and cost of every way to choose."""
    settings, points, missing = _settings(request), list[Point](), list[str]()
    for core, spurious in track(settings, "settings diagnosed", total=len(settings)):
        for seed, runs in _by_seed(table, at(core, spurious)).items():
            name = f"{at(core, spurious)}, seed {seed}"
            if absent := [recipe for recipe in (*RECIPES, *PENALISED) if recipe not in runs]:
                missing.append(f"missing at {name}: {', '.join(absent)}")
            if all(recipe in runs for recipe in NEEDED):
                answer = diagnose_setting(request, core, spurious, home, seed=seed).verdict.answer
                points.append(Point(name, runs, BY_DIAGNOSIS.get(answer, "both")))
    ways: dict[str, Callable[[Point], str]] = {
        "always erm": _always("erm"),
        "always ftt, p = 0.25": _always("ftt"),
        DIAGNOSED: lambda point: point.advised,
        AUTO: Point.by_held_out_score,
        **{f"always joined: {name}": _always(name) for name in JOINED},
    }
    rows = [row for name, way in ways.items() if (row := _row(name, way, points)) is not None]
    columns = ("choice", "mean", "− better of ERM and FTT, worst", "− best of one training, worst", "cost / ERM", "n")
    summary = TextTable("worst group accuracy in %, regrets in points, over settings and seeds", columns, rows)
    return Findings([summary, _by_setting(points)], [*_sentences(points), *missing], {})


def _always(recipe: str) -> Callable[[Point], str]:
    return lambda point: recipe


def _by_seed(table: ResultTable, setting: str) -> dict[int, dict[str, Result]]:
    """The runs of a setting by the training seeds that were asked for, then by recipe."""
    found: dict[int, dict[str, Result]] = {}
    for measured in (m for m in table.cells if m.cell.column == setting):
        for spec in measured.cell.specs:
            runs = found.setdefault(spec.seed, {})
            for result in measured.results:
                # Where nothing is trained one run may serve several seeds.
                if result.spec.data == spec.data and (result.spec.seed == spec.seed or not spec.recipe.trains):
                    runs[measured.cell.row] = result
    return found


def _row(name: str, way: Callable[[Point], str], points: Sequence[Point]) -> list[str] | None:
    """One way to choose, over the points at which its choice was run."""
    known = [(p, way(p), accuracy) for p in points if (accuracy := p.accuracy(way(p))) is not None]
    if not known:
        return None
    paper = [accuracy - max(p.runs[r].worst_group_accuracy for r in ("erm", "ftt")) for p, _, accuracy in known]
    shared = [accuracy - max(p.runs[r].worst_group_accuracy for r in SHARED) for p, _, accuracy in known]
    costs = [p.cost(SHARED if name == AUTO else [chosen]) for p, chosen, _ in known]
    one = all(chosen in ONE_TRAINING for _, chosen, _ in known)
    cost = f"{statistics.median(costs):.2f}" if one else "another training"
    mean = percent(statistics.fmean(accuracy for *_, accuracy in known))
    return [name, mean, signed(min(paper)), signed(min(shared)), cost, str(len(known))]


def _by_setting(points: Sequence[Point]) -> TextTable:
    rows = [
        [
            p.name,
            *(("–" if (value := p.accuracy(name)) is None else percent(value)) for name in (*FIXED, *JOINED)),
            p.by_held_out_score(),
            p.advised,
        ]
        for p in points
    ]
    columns = ("noise", *FIXED, *JOINED, "auto", "diagnosis")
    return TextTable("every setting: worst group accuracy in %, and what was chosen", columns, rows)


def _sentences(points: Sequence[Point]) -> list[str]:
    if not points:
        return ["no setting has all runs yet"]
    chosen = [(p, p.runs[p.by_held_out_score()].worst_group_accuracy) for p in points]
    regret = min(value - max(p.runs[r].worst_group_accuracy for r in ("erm", "ftt")) for p, value in chosen)
    fixed = statistics.fmean(value - p.runs["ftt"].worst_group_accuracy for p, value in chosen)
    cost = statistics.median(p.cost(SHARED) for p in points)
    return [
        f"auto over {len(points)} settings and seeds: {signed(regret)} points in the worst case against the better of "
        f"ERM and FTT, {signed(fixed)} on average against FTT at p = 0.25, at {cost:.2f} times the cost of ERM",
        "times were measured on a shared machine: ratios of one training and its probings, not seconds, carry over",
    ]


AUTO_CHOICE = Experiment(
    "auto",
    "The recipe chosen for the user",
    "Which way to choose a recipe without test labels loses least, and what does it cost?",
    auto_cells,
    auto_findings,
    datasets=("dominoes", "digits"),
    reduced="not an experiment of the paper; the settings of its cpu budget",
)
