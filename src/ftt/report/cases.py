"""Runs in order: which settings there are, what was run in each, and with which training seeds.

A *setting* is the data, the backbone and the way of probing; a *variant* is the recipe and its training. Runs that
agree in both and differ in their seed are one case.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ftt.errors import FttError
from ftt.metrics import GroupReport
from ftt.paired import Difference, paired_difference
from ftt.params import Json
from ftt.recipe import PRESETS
from ftt.report.tables import percent, seed_interval
from ftt.result import Result
from ftt.spec import Spec

Fields = Mapping[str, Json]

BASES = ("init", "erm")
"""What others are compared with, the first that is there."""
SEEDS = ("data.seed", "freeze.seed", "probe.seed")
WORST, AVERAGE, CELL = "worst_group_accuracy", "average_accuracy", "worst_cell_accuracy"


@dataclass(frozen=True)
class Case:
    """The same run with one or more training seeds."""

    setting: Fields
    variant: Fields
    results: tuple[Result, ...]

    @property
    def recipe(self) -> str:
        return str(self.variant["recipe"])

    @property
    def p(self) -> float | None:
        """Share of frozen features; plain training has none of them."""
        recipe = self.results[0].spec.recipe
        return recipe.freeze.p if recipe.freeze else 0.0 if recipe.method and not recipe.sources else None

    def values(self, metric: str = WORST) -> list[float]:
        return [float(getattr(result, metric)) for result in self.results]

    def mean(self, metric: str = WORST) -> float:
        return statistics.fmean(self.values(metric))

    def error(self, metric: str = WORST) -> float | None:
        """The standard error over training seeds; one seed has none."""
        values = self.values(metric)
        return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None

    def interval(self) -> tuple[float, float]:
        """95 %: over training seeds where there are several, over test rows otherwise."""
        if len(self.results) == 1:
            return self.results[0].report.worst[1].interval()
        return seed_interval(self.values())

    @cached_property
    def report(self) -> GroupReport:
        """The mean over training seeds."""
        return GroupReport.mean([result.report for result in self.results])


@dataclass(frozen=True)
class Cases:
    """All cases of a page, by setting and recipe."""

    cases: Sequence[Case]

    @classmethod
    def of(cls, results: Iterable[Result]) -> Cases:
        """Sort results into cases."""
        found: dict[tuple[str, str], list[Result]] = {}
        parts: dict[tuple[str, str], tuple[Fields, Fields]] = {}
        for result in {result.run.key: result for result in results}.values():
            setting, variant = fields_of(result.spec)
            key = json.dumps(setting, sort_keys=True), json.dumps(variant, sort_keys=True)
            found.setdefault(key, []).append(result)
            parts.setdefault(key, (setting, variant))
        if not found:
            raise FttError("there are no finished runs to show", given="0 runs", allowed="at least one finished run")
        by_seed = {key: sorted(runs, key=lambda run: run.spec.seed) for key, runs in found.items()}
        cases = [Case(*parts[key], tuple(runs)) for key, runs in by_seed.items()]
        differing = _differing([case.setting for case in cases])
        return cls(sorted(cases, key=lambda case: (_order(case.setting, differing), _rank(case))))

    @property
    def results(self) -> list[Result]:
        return [result for case in self.cases for result in case.results]

    @cached_property
    def setting_fields(self) -> list[str]:
        """The fields in which settings differ."""
        return _differing([case.setting for case in self.cases])

    @cached_property
    def variant_fields(self) -> list[str]:
        """The fields in which variants that have them differ."""
        return _differing([case.variant for case in self.cases])

    def settings(self) -> list[list[Case]]:
        """Cases by setting."""
        found: dict[str, list[Case]] = {}
        for case in self.cases:
            found.setdefault(json.dumps(case.setting, sort_keys=True), []).append(case)
        return list(found.values())

    @cached_property
    def focus(self) -> list[Case]:
        """The cases of the setting that tells most: where most was run, and where that differs most."""

        def told(cases: Sequence[Case]) -> tuple[int, float]:
            means = [case.mean() for case in cases]
            return len(cases), max(means) - min(means)

        return max(self.settings(), key=told)

    def label(self, case: Case) -> str:
        """The variant in words: the recipe, and what tells it from others of the same recipe."""
        same = [other.variant for other in self.cases if other.recipe == case.recipe]
        names = [name for name in _differing(same) if name != "recipe"]
        if case.p not in (None, 0.0, 1.0) and "freeze.p" not in names:
            names.insert(0, "freeze.p")
        return ", ".join([case.recipe, *(said(name, case.variant.get(name)) for name in names)])

    def where(self, case: Case, most: int | None = None) -> str:
        """The setting in words: what tells it from others, of long lists the first `most` fields."""
        return ", ".join(said(name, case.setting.get(name)) for name in self.setting_fields[:most])

    def base(self, cases: Sequence[Case]) -> Case | None:
        """What the cases of one setting are compared with: the initial features, else plain training, else none."""
        for recipe in BASES:
            for case in cases:
                if case.recipe == recipe:
                    return case
        return cases[0] if len(cases) > 1 else None


def difference(case: Case, base: Case) -> Difference | None:
    """Worst group of a case minus that of another on the same test rows; None where they cannot be paired."""
    seeds = {result.spec.seed: result for result in base.results}
    pairs = [(result, seeds[result.spec.seed]) for result in case.results if result.spec.seed in seeds]
    if not pairs or any(one.judged != other.judged for one, other in pairs):
        return None
    return paired_difference([one for one, _ in pairs], [other for _, other in pairs])


def best_of(cases: Sequence[Case]) -> Case | None:
    """The case with the best worst group, if it can be told apart from every other; most often none can."""
    ranked = sorted(cases, key=lambda case: -case.mean())
    if len(ranked) < 2:
        return None
    for other in ranked[1:]:
        found = difference(ranked[0], other)
        if found is None or found.low <= 0:
            return None
    return ranked[0]


def fields_of(spec: Spec) -> tuple[dict[str, Json], dict[str, Json]]:
    """Setting and variant of a Spec as flat fields, without seeds."""
    setting: dict[str, Json] = {"dataset": spec.data.name, "backbone": spec.backbone}
    setting |= _dotted("data", spec.data.describe()) | _dotted("probe", spec.probe.describe())
    recipe = spec.recipe
    variant: dict[str, Json] = {"recipe": recipe.name}
    for role, part in (("freeze", recipe.freeze), ("method", recipe.method)):
        variant |= _dotted(role, part.describe()) if part else {}
    for source in recipe.sources:
        variant |= _dotted(source.name, source.describe())
    variant |= _dotted("train", spec.train.describe()) if recipe.trains else {}
    return setting, variant


def _order(setting: Fields, names: Sequence[str]) -> list[tuple[bool, float, str]]:
    """For sorting: numbers by their size, then texts, then what is not there."""
    values = [setting.get(name) for name in names]
    return [
        (value is None, float(value) if isinstance(value, int | float) else math.inf, str(value)) for value in values
    ]


def _rank(case: Case) -> tuple[int, str, float, str]:
    """For sorting: recipes in the order in which they are listed, then by p and what else they have."""
    names = list(PRESETS)
    place = names.index(case.recipe) if case.recipe in names else len(names)
    return place, case.recipe, case.p or 0.0, json.dumps(dict(case.variant), sort_keys=True)


def _dotted(role: str, described: Mapping[str, Json]) -> dict[str, Json]:
    named = {f"{role}.{name}": value for name, value in described.items() if name != "name"}
    return {name: value for name, value in named.items() if name not in SEEDS}


def _differing(rows: Sequence[Fields]) -> list[str]:
    names = dict.fromkeys(name for row in rows for name in row)
    return [name for name in names if len({json.dumps(row[name]) for row in rows if name in row}) > 1]


def said(name: str, value: Json) -> str:
    """A field in words.

    Examples
    --------
    >>> said("data.core_noise", 0.2), said("freeze.p", 0.25), said("train.epochs", 4)
    ('core noise 20 %', 'p = 0.25', 'epochs = 4')
    """
    short = name.partition(".")[2] or name
    if short.endswith("_noise") and isinstance(value, int | float):
        return f"{short.replace('_', ' ')} {percent(value).removesuffix('.0')} %"
    if name in ("dataset", "backbone"):
        return str(value)
    return f"{short.replace('_', ' ')} = {f'{value:g}' if isinstance(value, float) else value}"
