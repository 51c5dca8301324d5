"""Dominoes over the grid of both noises: Figure 1 and the appendix figures of ERM, FTT and FTT at every p."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable

from altair import TopLevelMixin

from ftt.data import Roots
from ftt.paper.experiment import Experiment, Findings, Request
from ftt.paper.printed_numbers import FRACTIONS
from ftt.paper.result_table import AVERAGE, METRICS, WORST, Cell, ResultTable
from ftt.recipe import preset
from ftt.report.grids import Grid, HeatMap, heat_maps
from ftt.report.tables import TextTable, percent, signed

LEVELS = (0.0, 0.05, 0.1, 0.15, 0.2)
FEW = (0.0, 0.1, 0.2)
CORNER_SEEDS = 3
INITIAL, ERM, FTT = "initial features", "ERM", "FTT, p = 0.25"
_RECIPES = {INITIAL: preset("init"), ERM: preset("erm"), FTT: preset("ftt")}


def levels(request: Request, few: bool = False) -> tuple[float, ...]:
    """The noises of both axes."""
    if request.budget == "smoke":
        return (0.0, 0.2)
    return FEW if few and request.budget == "cpu" else LEVELS


def at(core: float, spurious: float) -> str:
    """The name of a noise setting."""
    return f"core {core:.0%}, spurious {spurious:.0%}"


def grid_cells(request: Request) -> list[Cell]:
    """Initial features, ERM and FTT at every pair of noises, with more seeds in the four corners."""
    values = levels(request)
    ends = (values[0], values[-1])
    cells = []
    for core in values:
        for spurious in values:
            corner = core in ends and spurious in ends and request.budget == "cpu"
            for row, recipe in _RECIPES.items():
                specs = request.specs(
                    recipe, at_least=CORNER_SEEDS if corner else 1, core_noise=core, spurious_noise=spurious
                )
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


def gain_findings(table: ResultTable, request: Request, roots: Roots) -> Findings:
    """Figure 1: what training does to the probed worst group, over the grid."""
    values = levels(request)
    maps = [HeatMap(f"{row} − initial features, worst group", _gains(table, row, values)) for row in (ERM, FTT)]
    findings = [*_rank(table, values), *_recovered(table, values), *_worst_loss(table, values)]
    return Findings(
        [_grid_table(m, "points", values, signed) for m in maps] + _seeds(table),
        findings,
        {"fig1": heat_maps(maps, values, "gain in points", diverging=True)},
    )


def accuracy_findings(table: ResultTable, request: Request, roots: Roots) -> Findings:
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


def by_p_findings(table: ResultTable, request: Request, roots: Roots) -> Findings:
    """The appendix figure: FTT at each p over the grid."""
    values = levels(request, few=True)
    tables: list[TextTable] = []
    charts: dict[str, TopLevelMixin] = {}
    for metric, words in METRICS.items():
        maps = [HeatMap(f"{row}, {words}", _accuracies(table, row, values, metric)) for row in table.rows]
        charts[f"fig-dominoes-p-{words.replace(' ', '-')}"] = heat_maps(maps, values, "accuracy in %")
        tables += [_grid_table(m, "%", values, percent, means=True) for m in maps]
    return Findings(tables + _seeds(table), [], charts)


def _rank(table: ResultTable, values: tuple[float, ...]) -> list[str]:
    from scipy.stats import spearmanr

    # Rounded, or 0.15 − 0.1 and 0.05 − 0 would not be a tie.
    pairs = [
        (round(core - spurious, 6), gain)
        for core in values
        for spurious in values
        if (gain := table.gain(ERM, INITIAL, at(core, spurious))) is not None
    ]
    if len(pairs) < 3:
        return []
    rank = float(spearmanr([p[0] for p in pairs], [p[1] for p in pairs]).statistic)
    gains = [gain for _, gain in pairs]
    return [
        f"rank correlation (Spearman) of ERM's gain with η_core − η_spu over {len(pairs)} settings: {rank:.2f}; "
        f"the gain runs from {signed(max(gains))} to {signed(min(gains))} points"
    ]


def _recovered(table: ResultTable, values: tuple[float, ...]) -> list[str]:
    """FTT − ERM where the core is noisier, with a 95 % t interval over these settings."""
    from scipy.stats import t

    lost = [
        gain
        for core in values
        for spurious in values
        if core > spurious and (gain := table.gain(FTT, ERM, at(core, spurious))) is not None
    ]
    if len(lost) < 2:
        return []
    mean = statistics.fmean(lost)
    half = float(t.ppf(0.975, len(lost) - 1)) * statistics.stdev(lost) / len(lost) ** 0.5
    return [
        f"FTT − ERM averaged over the {len(lost)} settings with η_core > η_spu: {signed(mean)} points, "
        f"95 % interval {signed(mean - half)} to {signed(mean + half)} (t, settings as the sample), "
        f"largest {signed(max(lost))}"
    ]


def _worst_loss(table: ResultTable, values: tuple[float, ...]) -> list[str]:
    gains = {
        at(core, spurious): gain
        for core in values
        for spurious in values
        if (gain := table.gain(FTT, INITIAL, at(core, spurious))) is not None
    }
    if not gains:
        return []
    place = min(gains, key=lambda name: gains[name])
    return [f"FTT's worst change against the initial features: {signed(gains[place])} points ({place})"]


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
