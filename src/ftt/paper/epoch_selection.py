"""Which epoch is kept: robust methods with their last epoch, and with the best one on noisy validation data."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import Any

from ftt.methods.jtt import JTT
from ftt.paper import coloured_mnist
from ftt.paper.beyond import against
from ftt.paper.experiment import Experiment, Findings, Request, both_metrics
from ftt.paper.grid_statistics import at
from ftt.paper.noise_tables import THREE
from ftt.paper.result_table import Cell, ResultTable
from ftt.recipe import Recipe, preset
from ftt.report.tables import TextTable, signed
from ftt.spec import Spec
from ftt.store import Home

METHODS: dict[str, Recipe] = {"JTT": Recipe(None, JTT(upweight=5)), "CVaR-DRO": preset("cvar-dro")}
LAST, BEST = "last epoch", "best epoch"


def noises(request: Request) -> dict[str, dict[str, Any]]:
    """Parameters of the data set by name of the setting."""
    if request.dataset == "cmnist":
        found = {
            coloured_mnist.name_of(core, colour): {"core_noise": core, "spurious_noise": colour, "test_noise": 0.5}
            for core, colour in coloured_mnist.NOISES
        }
    else:
        found = {at(core, other): {"core_noise": core, "spurious_noise": other} for core, other in THREE}
    return dict(list(found.items())[:1]) if request.budget == "smoke" else found


def cells(request: Request) -> list[Cell]:
    """JTT and CVaR-DRO with and without the choice of an epoch, and ERM beside them."""
    found = []
    for column, data in noises(request).items():
        found.append(Cell("ERM, last epoch", column, request.specs(preset("erm"), **data)))
        for name, recipe in METHODS.items():
            specs = request.specs(recipe, **data)
            found.append(Cell(f"{name}, {LAST}", column, specs))
            found.append(Cell(f"{name}, {BEST}", column, tuple(map(_selecting, specs))))
    return found


def _selecting(spec: Spec) -> Spec:
    return replace(spec, train=spec.train.replace(select="worst-group"))


def findings(table: ResultTable, request: Request, home: Home) -> Findings:
    """The accuracies, what the choice changes, and which epochs were chosen."""
    rows, sentences = [], []
    for name in METHODS:
        differences = {c: against(table, f"{name}, {BEST}", f"{name}, {LAST}", c) for c in table.columns}
        rows.append(
            [
                name,
                *(
                    "–"
                    if d is None
                    else f"{signed(d.value)} [{signed(d.low)}, {signed(d.high)}]; epoch {_epochs(table, name, c)}"
                    for c, d in differences.items()
                ),
            ]
        )
        known = [d for d in differences.values() if d is not None]
        if known:
            mean = fmean(d.value for d in known)
            sentences.append(
                f"{name}: choosing the epoch changes the probed worst group by {signed(mean)} points on average over "
                f"{len(known)} settings; distinguishable from 0 in {sum(d.distinguishable for d in known)}"
            )
    title = "best − last epoch, worst group, points [95 % interval]; epoch that was chosen, of all, by training seed"
    changes = TextTable(title, ["method", *table.columns], rows)
    return Findings([changes, *both_metrics(table, request, home).tables], sentences)


def _epochs(table: ResultTable, name: str, column: str) -> str:
    """Chosen epochs, counted from 1, of the runs of a cell."""
    found = table.at(f"{name}, {BEST}", column)
    assert found is not None
    texts = []
    for result in found.results:
        scores = [record["val_worst_group"] for record in result.train_log if "val_worst_group" in record]
        texts.append(f"{scores.index(max(scores)) + 1} of {len(scores)}")
    return ", ".join(texts)


SELECTION = Experiment(
    "selection",
    "The epoch that is kept: last, or best on noisy validation data",
    "Does choosing the epoch by the worst group of noisy validation data, as the JTT paper does, change the table?",
    cells,
    findings,
    datasets=("dominoes", "cmnist"),
    reduced="not a table of the paper; the settings of the cpu budget, with JTT's λ = 5",
)
