"""Recipes on one data set, side by side: accuracies, and paired differences to the first of them."""

from __future__ import annotations

import html
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftt.paired import Difference, paired_difference
from ftt.params import Json
from ftt.report.tables import TextTable, one_class, percent, signed
from ftt.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Comparison:
    """The results of every recipe, one per training seed; the first recipe is what the others are compared with."""

    results: Mapping[str, Sequence[Result]]

    @property
    def base(self) -> str:
        return next(iter(self.results))

    def difference(self, recipe: str) -> Difference:
        """Worst-group accuracy of a recipe minus that of the first, with its 95 % interval."""
        return paired_difference(self.results[recipe], self.results[self.base])

    def table(self) -> TextTable:
        """One row per recipe."""
        rows = []
        for recipe, runs in self.results.items():
            worst, average, cell = (
                statistics.fmean(values)
                for values in (
                    [r.worst_group_accuracy for r in runs],
                    [r.average_accuracy for r in runs],
                    [r.worst_cell_accuracy for r in runs],
                )
            )
            shown = "" if recipe == self.base else _in_words(self.difference(recipe))
            rows.append([recipe + one_class(runs), percent(worst), percent(average), percent(cell), shown])
        first = next(iter(self.results.values()))
        trainings = "one training seed" if len(first) == 1 else f"means over {len(first)} training seeds"
        title = f"{first[0].spec.data.name} · {first[0].spec.backbone}: probed accuracy in %, {trainings}"
        columns = ("recipe", "worst group", "average", "worst label, group", f"minus {self.base} [95 %]")
        return TextTable(title, columns, rows)

    def sentences(self) -> list[str]:
        """What can be told apart, and what cannot."""
        found = []
        for recipe in list(self.results)[1:]:
            difference = self.difference(recipe)
            better = "better" if difference.value > 0 else "worse"
            verdict = (
                f"{better} than {self.base}" if difference.distinguishable else f"not distinguishable from {self.base}"
            )
            found.append(f"{recipe}: {verdict} on the worst group ({_in_words(difference)} points)")
        return found

    def to_json(self) -> dict[str, Json]:
        differences = {recipe: self.difference(recipe) for recipe in list(self.results)[1:]}
        return {
            "base": self.base,
            "runs": {recipe: [run.to_json() for run in runs] for recipe, runs in self.results.items()},
            "differences": {
                recipe: {"value": d.value, "low": d.low, "high": d.high, "distinguishable": d.distinguishable}
                for recipe, d in differences.items()
            },
        }

    def to_frame(self) -> DataFrame:
        """One row per run: recipe, seed, both accuracies, whether one class only is predicted."""
        import pandas

        return pandas.DataFrame(
            [
                {
                    "recipe": recipe,
                    "seed": run.spec.seed,
                    "worst_group_accuracy": run.worst_group_accuracy,
                    "average_accuracy": run.average_accuracy,
                    "one_class": run.collapsed,
                    "run_id": run.run.id,
                }
                for recipe, runs in self.results.items()
                for run in runs
            ]
        )

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences())
        return self.table().to_html() + said

    def __str__(self) -> str:
        return "\n".join([self.table().to_markdown(), *self.sentences()])


def _in_words(difference: Difference) -> str:
    return f"{signed(difference.value)} [{signed(difference.low)}, {signed(difference.high)}]"
