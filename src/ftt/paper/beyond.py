"""Beyond the paper: recipes from shared trainings, over the noises of Dominoes, against FTT on the same test rows."""

from __future__ import annotations

import statistics

from ftt.data import Roots
from ftt.paired import Difference, paired_difference
from ftt.paper.experiment import Experiment, Findings, Request
from ftt.paper.noise_grid import FEW, LEVELS, at
from ftt.paper.result_table import WORST, Cell, ResultTable
from ftt.recipe import PRESETS, preset
from ftt.report.grids import HeatMap, heat_maps
from ftt.report.tables import TextTable, percent, signed

PAPER = ("init", "erm", "ftt")
BEYOND = ("ftt-late", "both", "taught", "initial-taught", "all-three", "wise-ft", "leace", "target")
TARGET_ROWS = (100, 300, 1000, 3000)
ROW_NOISES = ((0.2, 0.0), (0.1, 0.1))


def grid(request: Request) -> tuple[float, ...]:
    """The noises of both axes: nine settings, or all 25 of the paper."""
    if request.budget == "smoke":
        return (0.0, 0.2)
    return FEW if request.budget == "cpu" else LEVELS


def beyond_cells(request: Request) -> list[Cell]:
    """Every recipe at every pair of noises. Setting by setting, so that what is published early is whole."""
    return [
        Cell(name, at(core, spurious), request.specs(preset(name), core_noise=core, spurious_noise=spurious))
        for core in grid(request)
        for spurious in grid(request)
        for name in (*PAPER, *BEYOND)
    ]


def beyond_findings(table: ResultTable, request: Request, roots: Roots) -> Findings:
    """Accuracies, paired differences to FTT, the worst regret, and the cost of every recipe."""
    summary = []
    for row in (r for r in table.rows if r in BEYOND):
        differences = {c: d for c in table.columns if (d := against(table, row, "ftt", c)) is not None}
        regrets = {c: r for c in table.columns if (r := regret(table, row, c)) is not None}
        if not differences or not regrets:
            continue
        above = sum(d.low > 0 for d in differences.values())
        below = sum(d.high < 0 for d in differences.values())
        where = min(regrets, key=lambda c: regrets[c])
        summary.append(
            [
                row,
                signed(statistics.fmean(d.value for d in differences.values())),
                f"{above} / {below} of {len(differences)}",
                f"{signed(regrets[where])} ({where})",
                ", ".join(trainings(row)) or "none",
            ]
        )
    columns = ["recipe", "− FTT, mean", "above / below FTT", "worst against best of initial, ERM, FTT", "trainings"]
    best = max(summary, key=lambda cells: float(cells[1].replace("−", "-")), default=None)
    sentences = []
    if best is not None:
        sentences.append(
            f"best on average: {best[0]}, {best[1]} points against FTT (worst group); distinguishably above / below it "
            f"in {best[2]} settings; worst setting against the best of initial features, ERM and FTT: {best[3]}"
        )
    charts = {}
    if best is not None and request.budget != "smoke":
        values = grid(request)
        gains = {(c, s): table.gain(best[0], "ftt", at(c, s)) for c in values for s in values}
        charts["beyond"] = heat_maps(
            [HeatMap(f"{best[0]} − FTT, worst group", gains)], values, "gain in points", diverging=True
        )
    return Findings(
        [
            TextTable("against FTT on the same test rows (paired bootstrap, 95 %)", columns, summary),
            by_setting(table),
            difference_table(table),
        ],
        sentences,
        charts,
    )


def against(table: ResultTable, row: str, over: str, column: str) -> Difference | None:
    """The paired difference of two recipes in one setting, over the training seeds that both have."""
    first, second = table.at(row, column), table.at(over, column)
    if first is None or second is None:
        return None
    theirs = {result.spec.seed: result for result in second.results}
    pairs = [(result, theirs[result.spec.seed]) for result in first.results if result.spec.seed in theirs]
    return paired_difference([a for a, _ in pairs], [b for _, b in pairs]) if pairs else None


def regret(table: ResultTable, row: str, column: str) -> float | None:
    """Mean of a recipe minus the best mean of initial features, ERM and FTT, in one setting."""
    gains = [table.gain(row, other, column) for other in PAPER]
    known = [gain for gain in gains if gain is not None]
    return min(known) if len(known) == len(PAPER) else None


def trainings(name: str) -> list[str]:
    """The trainings a recipe needs; those of one name are shared."""
    recipe = PRESETS[name].build()
    alone = [] if recipe.method is None else ["joint" if recipe.freeze and recipe.join == "joint" else "trained"]
    return sorted({*alone, *(name for source in recipe.sources for name in source.trainings)})


def by_setting(table: ResultTable) -> TextTable:
    """Settings downwards, recipes to the right: there are more settings than fit beside each other."""
    rows = []
    for column in table.columns:
        known = {row: mean for row in table.rows if (mean := table.mean(row, column)) is not None}
        top = max(known.values(), default=None)
        rows.append(
            [
                column,
                *(
                    ("**" * (known[r] == top) + percent(known[r]) + "**" * (known[r] == top)) if r in known else "–"
                    for r in table.rows
                ),
            ]
        )
    means = [[v for c in table.columns if (v := table.mean(row, c)) is not None] for row in table.rows]
    rows.append(["mean", *(percent(statistics.fmean(v)) if len(v) == len(table.columns) else "–" for v in means)])
    return TextTable("worst group accuracy in % (largest mean in bold)", ["noise", *table.rows], rows)


def difference_table(table: ResultTable) -> TextTable:
    """Paired differences to FTT with their intervals."""
    shown = [row for row in table.rows if row != "ftt"]
    rows = []
    for column in table.columns:
        cells = []
        for row in shown:
            d = against(table, row, "ftt", column)
            cells.append("–" if d is None else f"{signed(d.value)} [{signed(d.low)}, {signed(d.high)}]")
        rows.append([column, *cells])
    return TextTable("difference to FTT in points [95 % interval]", ["noise", *shown], rows)


def rows_cells(request: Request) -> list[Cell]:
    """Every recipe with 100 to 3,000 target rows, where training harms and between."""
    if request.budget == "smoke":
        return [
            Cell(name, at(*ROW_NOISES[0]), request.specs(preset(name), core_noise=ROW_NOISES[0][0]))
            for name in (*PAPER, *BEYOND)
        ]
    return [
        Cell(
            name,
            f"{at(core, spurious)}, {size:,} target rows",
            request.specs(preset(name), core_noise=core, spurious_noise=spurious, val_size=size),
        )
        for core, spurious in ROW_NOISES
        for size in TARGET_ROWS
        for name in (*PAPER, *BEYOND)
    ]


def rows_findings(table: ResultTable, request: Request, roots: Roots) -> Findings:
    """The ranking with every number of target rows."""
    sentences = []
    for column in table.columns:
        known = {row: mean for row in table.rows if (mean := table.mean(row, column, WORST)) is not None}
        if known:
            ranked = sorted(known, key=lambda row: -known[row])[:4]
            sentences.append(f"{column}: {', '.join(f'{row} {percent(known[row])}' for row in ranked)}")
    return Findings([by_setting(table), difference_table(table)], sentences)


BEYOND_TABLE = Experiment(
    "beyond",
    "Beyond the paper: recipes from shared trainings, over the noises of Dominoes",
    "Which recipe beats FTT, where, and at what cost?",
    beyond_cells,
    beyond_findings,
    datasets=("dominoes", "digits"),
    reduced="not an experiment of the paper; the settings of its cpu budget",
)
BEYOND_ROWS = Experiment(
    "beyond-rows",
    "Beyond the paper: how many target rows a recipe needs",
    "From how few target rows on is each recipe worth its cost?",
    rows_cells,
    rows_findings,
    datasets=("dominoes",),
    reduced="not an experiment of the paper; the settings of its cpu budget",
)
