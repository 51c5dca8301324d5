"""How many features does probing need: accuracy and time against the number of principal components."""

from __future__ import annotations

import statistics
from dataclasses import replace

from ftt.paper.experiment import Experiment, Findings, Request
from ftt.paper.noise_tables import noise_settings
from ftt.paper.result_table import METRICS, WORST, Cell, ResultTable
from ftt.recipe import preset
from ftt.report.grids import Line, lines
from ftt.report.tables import TextTable, percent, signed
from ftt.store import Home

ALL = "all"


def _dims(request: Request) -> tuple[int, ...]:
    # The paper's ResNet-50 has 2,048 features and its figure goes to 2¹²; a network cannot give more than it has.
    most = {"paper": 9 if request.dataset == "dominoes" else 11, "cpu": 10, "smoke": 3}[request.budget]
    return tuple(2**power for power in range(1, most + 1))


def dims_cells(request: Request) -> list[Cell]:
    """FTT probed on 2, 4, 8, … components fitted on the training split, and on all features."""
    cells = []
    for column, (_, options) in noise_settings(request).items():
        specs = request.specs(preset("ftt"), **options)
        cells += [
            Cell(str(dims), column, tuple(replace(spec, probe=spec.probe.replace(dims=dims)) for spec in specs))
            for dims in _dims(request)
        ]
        cells.append(Cell(ALL, column, specs))
    return cells


def dims_findings(table: ResultTable, request: Request, home: Home) -> Findings:
    """Accuracies and probing times by dimension; the smallest number that is as good as all."""
    tables = [table.texts(metric, "dimensions") for metric in METRICS]
    seconds = {row: _seconds(table, row) for row in table.rows}
    full = seconds[ALL]
    tables.append(
        TextTable(
            "probing time, median over the noises",
            ["dimensions", "seconds", "all features / this"],
            [[row, f"{value:.3f}", f"{full / value:.1f}×"] for row, value in seconds.items() if value and full],
        )
    )
    accuracies = {row: _mean(table, row) for row in table.rows}
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
                (float(row), 100 * cell.mean(WORST), _in_percent(cell.interval(WORST)))
                for row in table.rows
                if row != ALL and (cell := table.at(row, column)) is not None
            ],
        )
        for column in table.columns
    ]
    chart = lines(curves, "dimensions probed on", "worst-group accuracy in %", log=True)
    return Findings(tables, findings, {"fig-dims": chart})


def _in_percent(interval: tuple[float, float]) -> tuple[float, float]:
    return 100 * interval[0], 100 * interval[1]


def _mean(table: ResultTable, row: str) -> float | None:
    values = [table.mean(row, column, WORST) for column in table.columns]
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if len(known) == len(values) else None


def _seconds(table: ResultTable, row: str) -> float:
    """Median seconds of one probing (all its seeds together)."""
    found = [
        float(result.seconds["probe"])
        for column in table.columns
        if (cell := table.at(row, column))
        for result in cell.results
    ]
    return statistics.median(found) if found else 0.0


FIG_DIMS = Experiment(
    "fig-dims",
    "How many features probing needs",
    "Do a few principal components of the learned features probe as well as all of them?",
    dims_cells,
    dims_findings,
    datasets=("dominoes", "waterbirds", "celeba"),
)
