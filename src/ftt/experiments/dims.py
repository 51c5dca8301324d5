"""How many features does probing need: accuracy and time against the number of principal components."""

from __future__ import annotations

import statistics
from dataclasses import replace

from ftt.data import Roots
from ftt.experiments.noise_tables import noise_settings
from ftt.experiments.story import Ask, Story
from ftt.experiments.tables import METRICS, WORST, Board, Cell, TextTable
from ftt.report.grids import Line, lines
from ftt.report.tables import percent, signed
from ftt.train import preset

ALL = "all"


def _dims(ask: Ask) -> tuple[int, ...]:
    # The paper's ResNet-50 has 2,048 features and its figure goes to 2¹²; a network cannot give more than it has.
    most = {"paper": 9 if ask.dataset == "dominoes" else 11, "cpu": 10, "smoke": 3}[ask.budget]
    return tuple(2**power for power in range(1, most + 1))


def dims_cells(ask: Ask) -> list[Cell]:
    """FTT probed on 2, 4, 8, … components fitted on the training split, and on all features."""
    cells = []
    for column, (_, options) in noise_settings(ask).items():
        specs = ask.specs(preset("ftt"), **options)
        cells += [
            Cell(str(dims), column, tuple(replace(spec, probe=spec.probe.replace(dims=dims)) for spec in specs))
            for dims in _dims(ask)
        ]
        cells.append(Cell(ALL, column, specs))
    return cells


def dims_story(board: Board, ask: Ask, roots: Roots) -> Story:
    """Accuracies and probing times by dimension; the smallest number that is as good as all."""
    tables = [board.table(metric, "dimensions") for metric in METRICS]
    seconds = {row: _seconds(board, row) for row in board.rows}
    full = seconds[ALL]
    tables.append(
        TextTable(
            "probing time, median over the noises",
            ["dimensions", "seconds", "all features / this"],
            [[row, f"{value:.3f}", f"{full / value:.1f}×"] for row, value in seconds.items() if value and full],
        )
    )
    accuracies = {row: _mean(board, row) for row in board.rows}
    findings = []
    whole = accuracies[ALL]
    known = {row: value for row, value in accuracies.items() if row != ALL and value is not None}
    if whole is not None and known and full:
        enough = next((row for row, value in known.items() if value >= whole - 0.005), None)
        best = max(known, key=lambda row: known[row])
        findings.append(f"all features: {percent(whole)} (worst group, mean over the noises)")
        if "64" in known:
            findings.append(
                f"64 dimensions: {percent(known['64'])}, {signed(known['64'] - whole)} against all, "
                f"probing {full / seconds['64']:.1f} times faster"
            )
        findings.append(f"best: {best} dimensions, {percent(known[best])}")
        findings.append(f"fewest within half a point of all features: {enough or 'none'}")
    curves = [
        Line(
            column,
            [
                (float(row), 100 * value, None)
                for row in board.rows
                if row != ALL and (value := board.mean(row, column)) is not None
            ],
        )
        for column in board.columns
    ]
    chart = lines(curves, "dimensions probed on", "worst-group accuracy in %", log=True)
    return Story(tables, findings, {"fig-dims": chart})


def _mean(board: Board, row: str) -> float | None:
    values = [board.mean(row, column, WORST) for column in board.columns]
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if len(known) == len(values) else None


def _seconds(board: Board, row: str) -> float:
    """Median seconds of one probing (all its seeds together)."""
    found = [
        float(result["seconds"]["probe"])
        for column in board.columns
        if (cell := board.at(row, column))
        for result in cell.results
    ]
    return statistics.median(found) if found else 0.0
