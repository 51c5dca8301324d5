"""Train on three domains, probe on the fourth: the distribution shift table."""

from __future__ import annotations

import statistics

from ftt.data import Roots
from ftt.experiments.paper import domains, shift_table
from ftt.experiments.story import Ask, Story
from ftt.experiments.tables import AVERAGE, Board, Cell
from ftt.report.tables import percent, signed
from ftt.train import preset

ROWS = {"init": "initial features", "erm": "ERM", "irm": "IRM", "group-dro": "GroupDRO", "ftt": "FTT, p = 0.25"}


def shift_cells(ask: Ask) -> list[Cell]:
    """Every method with every domain held out; the initial features beside them, which the paper leaves out."""
    return [
        Cell(row, domain, ask.specs(preset(recipe), held_out=domain), shift_table(ask.dataset, recipe, domain))
        for recipe, row in ROWS.items()
        for domain in domains(ask.dataset)
    ]


def shift_story(board: Board, ask: Ask, roots: Roots) -> Story:
    """The table, its means over the domains, and FTT against the best other method."""
    table = board.table(AVERAGE, "method")
    table.columns.append("mean")
    means: dict[str, float] = {}
    for row in table.rows:
        values = [board.mean(row[0], domain, AVERAGE) for domain in board.columns]
        known = [value for value in values if value is not None]
        whole = len(known) == len(values)
        if whole:
            means[row[0]] = statistics.fmean(known)
        row.append(_beside(means[row[0]], ask.dataset, row[0]) if whole else "–")
    others = {row: mean for row, mean in means.items() if row not in (ROWS["ftt"], ROWS["init"])}
    findings = []
    if others and ROWS["ftt"] in means:
        best, ftt = max(others, key=lambda row: others[row]), means[ROWS["ftt"]]
        findings.append(
            f"FTT against the best other method ({best}), mean over the domains: {signed(ftt - others[best])}; "
            f"against the initial features: {signed(ftt - means[ROWS['init']])}"
        )
    return Story([table], findings)


def _beside(mean: float, dataset: str, row: str) -> str:
    method = next(key for key, name in ROWS.items() if name == row)
    printed = [shift_table(dataset, method, domain).average for domain in domains(dataset)]
    known = [value for value in printed if value is not None]
    if not known:
        return percent(mean)
    paper = statistics.fmean(known) / 100
    return f"{percent(mean)}; paper {percent(paper)}, {signed(mean - paper)}"
