"""Accuracies against the core noise: the main table, Figure 4, and the table over p."""

from __future__ import annotations

from ftt.data import Roots
from ftt.experiments.noise_grid import LEVELS, at
from ftt.experiments.paper import FRACTIONS, NOISES, main_table, p_table
from ftt.experiments.story import Ask, Story, both_tables
from ftt.experiments.tables import METRICS, Board, Cell
from ftt.params import Json
from ftt.report.grids import Line, lines
from ftt.report.tables import signed
from ftt.train import preset

METHODS = {"erm": "ERM", "irm": "IRM", "cvar-dro": "CVaR-DRO", "jtt": "JTT", "ftt": "FTT, p = 0.25"}
INITIAL = "initial features"
THREE = ((0.2, 0.0), (0.1, 0.1), (0.0, 0.2))
"""Noises of Dominoes where training harms, does little, and helps."""
MIDDLE = 0.1
"""Spurious noise of Dominoes along which Figure 4 is drawn."""


def noise_settings(ask: Ask) -> dict[str, tuple[float, dict[str, Json]]]:
    """Core noise and parameters of the data set by name: six core noises, or three pairs on Dominoes."""
    if ask.dataset == "dominoes":
        pairs = THREE[::2] if ask.budget == "smoke" else THREE
        return {at(c, s): (c, {"core_noise": c, "spurious_noise": s}) for c, s in pairs}
    noises = NOISES[::5] if ask.budget == "smoke" else NOISES
    return {f"core {noise:.0%}": (noise, {"core_noise": noise}) for noise in noises}


def main_cells(ask: Ask) -> list[Cell]:
    """Five methods at every noise."""
    return [
        Cell(name, column, ask.specs(preset(method), **options), main_table(ask.dataset, method, noise))
        for method, name in METHODS.items()
        for column, (noise, options) in noise_settings(ask).items()
    ]


def p_cells(ask: Ask) -> list[Cell]:
    """FTT at every p and noise; p = 0 is ERM and p = 1 is PCA."""
    return [
        Cell(f"p = {p:g}", column, ask.specs(preset("ftt", p=p), **options), p_table(ask.dataset, p, noise))
        for p in FRACTIONS
        for column, (noise, options) in noise_settings(ask).items()
    ]


def p_story(board: Board, ask: Ask, roots: Roots) -> Story:
    """Both tables, and how every p does against ERM."""
    findings = [f"best p at {column}: {_best(board, column)}" for column in board.columns]
    for row in board.rows[1:]:
        gains = [board.gain(row, board.rows[0], column) for column in board.columns]
        known = [gain for gain in gains if gain is not None]
        if known:
            findings.append(f"{row} against ERM, worst group, mean over the noises: {signed(sum(known) / len(known))}")
    return Story(both_tables(board, ask, roots).tables, findings)


def gain_cells(ask: Ask) -> list[Cell]:
    """Initial features and ERM along the core noise."""
    noises: tuple[float, ...] = LEVELS if ask.dataset == "dominoes" else NOISES
    if ask.budget == "smoke":
        noises = (noises[0], noises[-1])
    also: dict[str, Json] = {"spurious_noise": MIDDLE} if ask.dataset == "dominoes" else {}
    return [
        Cell(row, f"{noise:g}", ask.specs(preset(recipe), core_noise=noise, **also))
        for row, recipe in ((INITIAL, "init"), ("ERM", "erm"))
        for noise in noises
    ]


def gain_story(board: Board, ask: Ask, roots: Roots) -> Story:
    """Figure 4: ERM's gain over the initial features against the core noise."""
    curves = []
    for metric, words in METRICS.items():
        points = [
            (100 * float(column), 100 * gain, None)
            for column in board.columns
            if (gain := board.gain("ERM", INITIAL, column, metric)) is not None
        ]
        curves.append(Line(words, points))
    findings = [
        f"gain of ERM, {curve.name}: {signed(curve.points[0][1] / 100)} at {curve.points[0][0]:g} % core noise, "
        f"{signed(curve.points[-1][1] / 100)} at {curve.points[-1][0]:g} %"
        for curve in curves
        if curve.points
    ]
    chart = lines(curves, "core noise η_core in %", "gain of ERM over the initial features, points", zero=True)
    return Story(both_tables(board, ask, roots).tables, findings, {"fig4": chart})


def _best(board: Board, column: str) -> str:
    known = {row: mean for row in board.rows if (mean := board.mean(row, column)) is not None}
    return max(known, key=lambda row: known[row]) if known else "not known"
