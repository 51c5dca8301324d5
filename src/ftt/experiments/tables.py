"""An experiment with a name: cells of a table, each a Spec per seed, and the paper's word beside ours."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ftt.data import Places
from ftt.experiments.runner import run
from ftt.params import Json
from ftt.progress import say
from ftt.spec import Spec
from ftt.store import Home


@dataclass(frozen=True)
class Cell:
    """One number of the table: the same run with several seeds."""

    row: str
    column: str
    specs: tuple[Spec, ...]


@dataclass(frozen=True)
class Experiment:
    """Cells as a function of the number of seeds; `command` reproduces the table."""

    name: str
    title: str
    question: str
    cells: Callable[[int], list[Cell]]


@dataclass(frozen=True)
class Measured:
    """A cell with its results."""

    cell: Cell
    results: tuple[dict[str, Json], ...]

    def values(self, metric: str) -> list[float]:
        return [float(result[metric]) for result in self.results]

    def mean(self, metric: str) -> float:
        return statistics.fmean(self.values(metric))

    def spread(self, metric: str) -> float:
        """Half the range over the seeds: with two of them that is all one can honestly say."""
        values = self.values(metric)
        return (max(values) - min(values)) / 2


def measure(experiment: Experiment, seeds: int, home: Home, places: Places) -> list[Measured]:
    """Run every cell, taking from the store what is there."""
    cells = experiment.cells(seeds)
    specs = [spec for cell in cells for spec in cell.specs]
    done = sum(home.runs.find(spec) is not None for spec in specs)
    say(f"{experiment.name}: {len(specs)} runs, {done} of them are in the store already")
    measured, number = [], 0
    for cell in cells:
        results = []
        for spec in cell.specs:
            number += 1
            say(f"run {number}/{len(specs)}: {cell.row} · {cell.column} · seed {spec.seed}")
            results.append(run(spec, home, places))
        measured.append(Measured(cell, tuple(results)))
    return measured


def as_rows(measured: Sequence[Measured]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows as texts: mean ± half range of the worst group, the average in brackets, in per cent."""
    columns = list(dict.fromkeys(m.cell.column for m in measured))
    by_place = {(m.cell.row, m.cell.column): m for m in measured}
    rows = []
    for row in dict.fromkeys(m.cell.row for m in measured):
        texts = [row]
        for column in columns:
            found = by_place.get((row, column))
            texts.append("–" if found is None else _text(found))
        rows.append(texts)
    return ["features", *columns], rows


def as_markdown(experiment: Experiment, seeds: int, measured: Sequence[Measured]) -> str:
    """The table with everything needed to make it again."""
    columns, rows = as_rows(measured)
    runs = [result for m in measured for result in m.results]
    lines = [
        f"# {experiment.title}",
        "",
        experiment.question,
        "",
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
        f"Worst-group accuracy in %, mean ± half range of {seeds} training seeds (average accuracy in brackets); "
        "probed on noisy balanced target data, judged on clean test labels.",
        "",
        f"Command: `ftt reproduce {experiment.name} --seeds {seeds}`. {len(runs)} runs, ftt {runs[0]['version']}.",
    ]
    return "\n".join(lines) + "\n"


def _text(found: Measured) -> str:
    worst, average = found.mean("worst_group_accuracy"), found.mean("average_accuracy")
    return f"{100 * worst:.1f} ± {100 * found.spread('worst_group_accuracy'):.1f} ({100 * average:.1f})"
