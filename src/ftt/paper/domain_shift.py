"""Train on three domains, probe on the fourth: the distribution shift table."""

from __future__ import annotations

import statistics

from ftt.paper.experiment import Experiment, Findings, Request
from ftt.paper.printed_numbers import domains, shift_mean, shift_table
from ftt.paper.result_table import AVERAGE, Cell, ResultTable
from ftt.recipe import preset
from ftt.report.tables import TextTable, percent, signed
from ftt.store import Home

ROWS = {"init": "initial features", "erm": "ERM", "irm": "IRM", "group-dro": "GroupDRO", "ftt": "FTT, p = 0.25"}


def shift_cells(request: Request) -> list[Cell]:
    """Every method with every domain held out; the initial features beside them, which the paper leaves out."""
    return [
        Cell(row, domain, request.specs(preset(recipe), held_out=domain), shift_table(request.dataset, recipe, domain))
        for recipe, row in ROWS.items()
        for domain in domains(request.dataset)
    ]


def shift_findings(table: ResultTable, request: Request, home: Home) -> Findings:
    """The table, its means over the domains, and FTT against the best other method."""
    texts = table.texts(AVERAGE, "method")
    means: dict[str, float] = {}
    rows = []
    for name, *cells in texts.rows:
        values = [table.mean(name, domain, AVERAGE) for domain in table.columns]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            means[name] = statistics.fmean(known)
        rows.append([name, *cells, _beside(means[name], request.dataset, name) if name in means else "–"])
    others = {row: mean for row, mean in means.items() if row not in (ROWS["ftt"], ROWS["init"])}
    sentences = []
    if others and ROWS["ftt"] in means:
        best, ftt = max(others, key=lambda row: others[row]), means[ROWS["ftt"]]
        sentences.append(
            f"FTT against the best other method ({best}), mean over the domains: {signed(ftt - others[best])}; "
            f"against the initial features: {signed(ftt - means[ROWS['init']])}"
        )
    return Findings([TextTable(texts.title, [*texts.columns, "mean"], rows)], sentences)


def _beside(mean: float, dataset: str, row: str) -> str:
    method = next(key for key, name in ROWS.items() if name == row)
    printed = shift_mean(dataset, method)
    return percent(mean) if printed is None else f"{percent(mean)}; paper {printed}, {signed(mean - printed / 100)}"


TABLE_SHIFT = Experiment(
    "table-shift",
    "The distribution shift table: train on three domains, probe on the fourth",
    "Does freezing help where the shift has no explicit shortcut?",
    shift_cells,
    shift_findings,
    datasets=("pacs", "officehome", "vlcs"),
)
