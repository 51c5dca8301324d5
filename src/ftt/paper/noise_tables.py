"""Accuracies against the core noise: the main table, Figure 4, and the table over p."""

from __future__ import annotations

from typing import Any

import numpy as np

from ftt.paired import paired_difference
from ftt.paper.experiment import Experiment, Findings, Request, both_metrics
from ftt.paper.grid_statistics import at
from ftt.paper.noise_grid import LEVELS
from ftt.paper.printed_numbers import FRACTIONS, NOISES, main_table, p_table
from ftt.paper.result_table import METRICS, WORST, Cell, ResultTable
from ftt.recipe import preset
from ftt.report.grids import Line, lines
from ftt.report.tables import signed
from ftt.store import Home

METHODS = {"erm": "ERM", "irm": "IRM", "cvar-dro": "CVaR-DRO", "jtt": "JTT", "ftt": "FTT, p = 0.25"}
INITIAL = "initial features"
THREE = ((0.2, 0.0), (0.1, 0.1), (0.0, 0.2))
"""Noises of Dominoes where training harms, does little, and helps."""
MIDDLE = 0.1
"""Spurious noise of Dominoes along which Figure 4 is drawn."""


def noise_settings(request: Request) -> dict[str, tuple[float, dict[str, Any]]]:
    """Core noise and parameters of the data set by name: six core noises, or three pairs on Dominoes."""
    if request.dataset == "dominoes":
        pairs = THREE[::2] if request.budget == "smoke" else THREE
        return {at(c, s): (c, {"core_noise": c, "spurious_noise": s}) for c, s in pairs}
    noises = NOISES[::5] if request.budget == "smoke" else NOISES
    return {f"core {noise:.0%}": (noise, {"core_noise": noise}) for noise in noises}


def main_cells(request: Request) -> list[Cell]:
    """Five methods at every noise."""
    return [
        Cell(name, column, request.specs(preset(method), **options), main_table(request.dataset, method, noise))
        for method, name in METHODS.items()
        for column, (noise, options) in noise_settings(request).items()
    ]


def p_cells(request: Request) -> list[Cell]:
    """FTT at every p and noise; p = 0 is ERM and p = 1 is PCA."""
    return [
        Cell(f"p = {p:g}", column, request.specs(preset("ftt", p=p), **options), p_table(request.dataset, p, noise))
        for p in FRACTIONS
        for column, (noise, options) in noise_settings(request).items()
    ]


def p_findings(table: ResultTable, request: Request, home: Home) -> Findings:
    """Both tables, and how every p does against ERM."""
    findings = [f"best p at {column}: {_best(table, column)}" for column in table.columns]
    for row in table.rows[1:]:
        gains = [table.gain(row, table.rows[0], column) for column in table.columns]
        known = [gain for gain in gains if gain is not None]
        if known:
            findings.append(f"{row} against ERM, worst group, mean over the noises: {signed(sum(known) / len(known))}")
    return Findings(both_metrics(table, request, home).tables, findings)


def gain_cells(request: Request) -> list[Cell]:
    """Initial features and ERM along the core noise."""
    noises: tuple[float, ...] = LEVELS if request.dataset == "dominoes" else NOISES
    if request.budget == "smoke":
        noises = (noises[0], noises[-1])
    also: dict[str, Any] = {"spurious_noise": MIDDLE} if request.dataset == "dominoes" else {}
    return [
        Cell(row, f"{noise:g}", request.specs(preset(recipe), core_noise=noise, **also))
        for row, recipe in ((INITIAL, "init"), ("ERM", "erm"))
        for noise in noises
    ]


def gain_findings(table: ResultTable, request: Request, home: Home) -> Findings:
    """Figure 4: ERM's gain over the initial features against the core noise."""
    curves = []
    for metric, words in METRICS.items():
        points = [
            (100 * float(column), 100 * gain, gain_interval(table, column, metric))
            for column in table.columns
            if (gain := table.gain("ERM", INITIAL, column, metric)) is not None
        ]
        curves.append(Line(words, points))
    findings = [
        f"gain of ERM, {curve.name}: {signed(curve.points[0][1] / 100)} at {curve.points[0][0]:g} % core noise, "
        f"{signed(curve.points[-1][1] / 100)} at {curve.points[-1][0]:g} %"
        for curve in curves
        if curve.points
    ]
    chart = lines(curves, "core noise η_core in %", "gain of ERM over the initial features, points", zero=True)
    return Findings(both_metrics(table, request, home).tables, findings, {"fig4": chart})


def gain_interval(table: ResultTable, column: str, metric: str) -> tuple[float, float] | None:
    """The 95 % interval of ERM's gain in points, paired by training seed and test row; None without such pairs."""
    erm, initial = table.at("ERM", column), table.at(INITIAL, column)
    if erm is None or initial is None:
        return None
    base = {result.spec.seed: result for result in initial.results}
    pairs = [(result, base[result.spec.seed]) for result in erm.results if result.spec.seed in base]
    if not pairs or any(one.judged != other.judged for one, other in pairs):
        return None
    if metric == WORST:
        found = paired_difference([one for one, _ in pairs], [other for _, other in pairs])
        return 100 * found.low, 100 * found.high
    changes = np.concatenate([one.rows()[0] - other.rows()[0] for one, other in pairs])
    half = 1.96 * float(changes.std()) / len(changes) ** 0.5
    return 100 * (float(changes.mean()) - half), 100 * (float(changes.mean()) + half)


def _best(table: ResultTable, column: str) -> str:
    known = {row: mean for row in table.rows if (mean := table.mean(row, column)) is not None}
    return max(known, key=lambda row: known[row]) if known else "not known"


DATASETS = ("waterbirds", "celeba", "dominoes")
FIG4 = Experiment(
    "fig4",
    "Figure 4: ERM's gain against the core noise",
    "Does training help less and less as the core gets noisier?",
    gain_cells,
    gain_findings,
    datasets=DATASETS,
)
TABLE_MAIN = Experiment(
    "table-main",
    "The main table: five methods under core noise",
    "Which method keeps its features when labels are noisy with respect to the core?",
    main_cells,
    datasets=DATASETS,
)
TABLE_P = Experiment(
    "table-p",
    "The table over p: how much to freeze",
    "How sensitive is FTT to p, and does the best p grow with the core noise?",
    p_cells,
    p_findings,
    datasets=DATASETS,
)
