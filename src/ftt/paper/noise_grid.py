"""Dominoes over the grid of both noises: Figure 1 and the appendix figures of ERM, FTT and FTT at every p."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable

from altair import TopLevelMixin

from ftt.paper.experiment import Experiment, Findings, Request
from ftt.paper.grid_statistics import (
    ERM,
    FTT,
    INITIAL,
    Accuracies,
    Contrast,
    at,
    contrast,
    contrast_gains,
    rank_correlation,
    seeds_in_words,
    settings_of,
    strata_table,
    worst_single_run,
)
from ftt.paper.printed_numbers import FRACTIONS
from ftt.paper.result_table import AVERAGE, METRICS, WORST, Cell, ResultTable
from ftt.recipe import preset
from ftt.report.grids import Grid, HeatMap, heat_maps
from ftt.report.tables import TextTable, percent, signed
from ftt.store import Home

LEVELS = (0.0, 0.05, 0.1, 0.15, 0.2)
FEW = (0.0, 0.1, 0.2)
SEEDS, CORNER_SEEDS = 2, 5
INTERVALS = (
    "intervals are paired bootstraps over test rows and training seeds within each setting, averaged over the "
    "settings; they say nothing about other data sets or noises"
)
_RECIPES = {INITIAL: preset("init"), ERM: preset("erm"), FTT: preset("ftt")}


def levels(request: Request, few: bool = False) -> tuple[float, ...]:
    """The noises of both axes."""
    if request.budget == "smoke":
        return (0.0, 0.2)
    return FEW if few and request.budget == "cpu" else LEVELS


def grid_cells(request: Request) -> list[Cell]:
    """Initial features, ERM and FTT at every pair of noises; on a CPU with more seeds in the four corners."""
    values = levels(request)
    ends = (values[0], values[-1])
    cells = []
    for core in values:
        for spurious in values:
            seeds = 1
            if request.budget == "cpu" and request.seeds is None:
                seeds = CORNER_SEEDS if core in ends and spurious in ends else SEEDS
            for row, recipe in _RECIPES.items():
                specs = request.specs(recipe, at_least=seeds, core_noise=core, spurious_noise=spurious)
                cells.append(Cell(row, at(core, spurious), specs))
    return cells


def grid_by_p_cells(request: Request) -> list[Cell]:
    """Every p at every pair of noises (at nine pairs on a CPU)."""
    values = levels(request, few=True)
    return [
        Cell(
            f"p = {p:g}",
            at(core, spurious),
            request.specs(preset("ftt", p=p), core_noise=core, spurious_noise=spurious),
        )
        for p in FRACTIONS
        for core in values
        for spurious in values
    ]


def gain_findings(table: ResultTable, request: Request, home: Home) -> Findings:
    """Figure 1: what training does to the probed worst group, over the grid."""
    values = levels(request)
    maps = [HeatMap(f"{row} − initial features, worst group", _gains(table, row, values)) for row in (ERM, FTT)]
    strata = [strata_table(table, values, row, over) for row, over in ((FTT, ERM), (ERM, INITIAL), (FTT, INITIAL))]
    return Findings(
        [*(_grid_table(m, "points", values, signed) for m in maps), *strata, *_seeds(table)],
        [*grid_sentences(table, values), INTERVALS],
        {"fig1": heat_maps(maps, values, "gain in points", diverging=True)},
    )


def accuracy_findings(table: ResultTable, request: Request, home: Home) -> Findings:
    """The appendix figure: accuracies of ERM and FTT over the grid, with means over rows and columns."""
    values = levels(request)
    tables: list[TextTable] = []
    charts: dict[str, TopLevelMixin] = {}
    findings = []
    for metric, words in METRICS.items():
        maps = [HeatMap(f"{row}, {words}", _accuracies(table, row, values, metric)) for row in (ERM, FTT)]
        charts[f"fig-dominoes-{words.replace(' ', '-')}"] = heat_maps(maps, values, "accuracy in %")
        tables += [_grid_table(m, "%", values, percent, means=True) for m in maps]
        erm, ftt = (_mean(m.values.values()) for m in maps)
        if erm is not None and ftt is not None:
            findings.append(
                f"mean over the grid, {words}: ERM {percent(erm)}, FTT {percent(ftt)}, FTT − ERM {signed(ftt - erm)}"
            )
    return Findings(tables + _seeds(table), findings, charts)


def by_p_findings(table: ResultTable, request: Request, home: Home) -> Findings:
    """The appendix figure: FTT at each p over the grid."""
    values = levels(request, few=True)
    tables: list[TextTable] = []
    charts: dict[str, TopLevelMixin] = {}
    for metric, words in METRICS.items():
        maps = [HeatMap(f"{row}, {words}", _accuracies(table, row, values, metric)) for row in table.rows]
        charts[f"fig-dominoes-p-{words.replace(' ', '-')}"] = heat_maps(maps, values, "accuracy in %")
        tables += [_grid_table(m, "%", values, percent, means=True) for m in maps]
    return Findings(tables + _seeds(table), [], charts)


def grid_sentences(table: Accuracies, values: tuple[float, ...]) -> list[str]:
    """What the grid shows, each mean with its stratum, its settings and, where predictions are known, its interval."""
    rank, gains = rank_correlation(table, values), contrast_gains(table, ERM, INITIAL, values)
    found = []
    if rank is not None:
        minus = f"{rank:.2f}".replace("-", "−")
        found.append(
            f"rank correlation (Spearman) of ERM's gain with η_core − η_spu over {len(gains)} settings: {minus}; "
            f"the gain runs from {signed(max(gains.values()))} to {signed(min(gains.values()))} points"
        )
    for stratum in ("all", "η_spu > 0", "η_core > η_spu = 0", "η_core > η_spu > 0", "η_core < η_spu"):
        one = contrast(table, FTT, ERM, settings_of(values, stratum))
        if one is not None:
            found.append(f"FTT − ERM, {stratum}: {contrast_in_words(one)}")
    kept = contrast_gains(table, FTT, INITIAL, values)
    single = worst_single_run(table, FTT, INITIAL, values)
    if kept and single is not None:
        place = min(kept, key=lambda setting: kept[setting])
        found.append(
            f"FTT's worst change against the initial features: {signed(kept[place])} points in the mean of a setting "
            f"({at(*place)}), {signed(single[0])} in a single run ({at(*single[1])})"
        )
    return [*found, seeds_in_words(table, values)]


def contrast_in_words(found: Contrast) -> str:
    """Mean, interval, and in how many settings the first is below the second."""
    interval = found.interval
    known = "" if interval is None else f" (95 % interval {signed(interval.low)} to {signed(interval.high)})"
    return f"{signed(found.mean)} points{known}, below 0 in {found.below} of {len(found.gains)} settings"


def _seeds(table: ResultTable) -> list[TextTable]:
    """The cells themselves: every mean with its error and its numbers of seeds."""
    rows = [[column, *_texts(table, column)] for column in table.columns]
    return [TextTable("every cell: worst group / average, %", ["noise", *table.rows], rows)]


def _texts(table: ResultTable, column: str) -> list[str]:
    found = (table.at(row, column) for row in table.rows)
    return ["–" if m is None else f"{m.text(WORST)} / {percent(m.mean(AVERAGE))}" for m in found]


def _gains(table: ResultTable, row: str, values: tuple[float, ...]) -> Grid:
    return {(c, s): table.gain(row, INITIAL, at(c, s)) for c in values for s in values}


def _accuracies(table: ResultTable, row: str, values: tuple[float, ...], metric: str) -> Grid:
    return {(c, s): table.mean(row, at(c, s), metric) for c in values for s in values}


def _mean(cells: Iterable[float | None]) -> float | None:
    """The mean, where every cell is there."""
    known = list(cells)
    return statistics.fmean(v for v in known if v is not None) if known and None not in known else None


def _grid_table(
    drawn: HeatMap, unit: str, values: tuple[float, ...], text: Callable[[float], str], means: bool = False
) -> TextTable:
    """The numbers of a heat map, core noise downwards; with a mean of every row and column where asked."""

    def line(name: str, cells: list[float | None]) -> list[str]:
        shown = [*cells, _mean(cells)] if means else cells
        return [name, *("–" if value is None else text(value) for value in shown)]

    rows = [line(f"{core:.0%}", [drawn.values[core, s] for s in values]) for core in values]
    if means:
        rows.append(line("mean", [_mean([drawn.values[c, s] for c in values]) for s in values]))
    columns = ["η_core \\ η_spu", *(f"{s:.0%}" for s in values), *(["mean"] if means else [])]
    return TextTable(f"{drawn.title}, {unit}", columns, rows)


FIG1 = Experiment(
    "fig1",
    "Figure 1: what training does to probing, over both noises of Dominoes",
    "Does ERM harm where the core is noisier than the shortcut, and does FTT not?",
    grid_cells,
    gain_findings,
    datasets=("dominoes",),
)
FIG_DOMINOES = Experiment(
    "fig-dominoes",
    "Appendix: ERM and FTT over the noises of Dominoes",
    "How do ERM and FTT do in every setting?",
    grid_cells,
    accuracy_findings,
    datasets=("dominoes",),
)
FIG_DOMINOES_P = Experiment(
    "fig-dominoes-p",
    "Appendix: FTT at each p over the noises of Dominoes",
    "How does FTT do in every setting at every p?",
    grid_by_p_cells,
    by_p_findings,
    datasets=("dominoes",),
)
