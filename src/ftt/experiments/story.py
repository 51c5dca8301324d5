"""An experiment with a name: what is asked, which runs answer it, and the story they tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from altair import TopLevelMixin

from ftt.data import Roots
from ftt.errors import FttError, unknown
from ftt.experiments.budgets import BUDGETS, Setting, setting
from ftt.experiments.paper import SAID
from ftt.experiments.tables import AVERAGE, METRICS, WORST, Board, Cell, TextTable
from ftt.params import Json
from ftt.spec import Spec
from ftt.train import Recipe


@dataclass(frozen=True)
class Ask:
    """What `ftt reproduce` was asked for; `seeds` and `probe_seeds` of None mean the budget's own."""

    budget: str
    dataset: str
    seeds: int | None = None
    probe_seeds: int | None = None

    @property
    def setting(self) -> Setting:
        return setting(self.dataset, self.budget)

    def specs(self, recipe: Recipe, *, at_least: int = 1, **options: Json) -> tuple[Spec, ...]:
        """One run per training seed; `at_least` so many where a cell matters more."""
        seeds = max(self.seeds or self.setting.seeds, at_least)
        return tuple(self.setting.spec(recipe, seed, self.probe_seeds, **options) for seed in range(seeds))


@dataclass(frozen=True)
class Story:
    """What an experiment has to show: tables, sentences with numbers, pictures by file name."""

    tables: list[TextTable]
    findings: list[str] = field(default_factory=list)
    charts: dict[str, TopLevelMixin] = field(default_factory=dict)


def both_tables(board: Board, ask: Ask, roots: Roots) -> Story:
    """Worst group and average; where they are the same number everywhere, once."""
    tables = [board.table(metric) for metric in METRICS]
    same = all(m.values(WORST) == m.values(AVERAGE) for m in board.cells)
    return Story(tables[1:] if same else tables)


@dataclass(frozen=True)
class Experiment:
    """A table or figure by name.

    Attributes
    ----------
    cells : callable
        The runs behind it, for what was asked; none where it is not made of runs.
    story : callable
        What the measured cells show.
    datasets : tuple of str
        Those it can be asked for, the default first; none where it has its own.
    reduced : str
        What differs from the paper, where the budget does not say it.
    """

    name: str
    title: str
    question: str
    cells: Callable[[Ask], list[Cell]]
    story: Callable[[Board, Ask, Roots], Story] = both_tables
    datasets: tuple[str, ...] = ()
    reduced: str = ""

    @property
    def said(self) -> str:
        """What the paper's text says about it."""
        return SAID.get(self.name, "")

    def ask(
        self,
        budget: str = "cpu",
        dataset: str | None = None,
        seeds: int | None = None,
        probe_seeds: int | None = None,
    ) -> Ask:
        """What is asked for, checked."""
        if budget not in BUDGETS:
            raise unknown("budget", budget, BUDGETS)
        if dataset is not None and not self.datasets:
            raise FttError(f"{self.name!r} has its own data", given=dataset, allowed="no --dataset")
        if dataset is not None and dataset not in self.datasets:
            raise unknown(f"data set of {self.name!r}", dataset, self.datasets)
        return Ask(budget, dataset or (self.datasets or ("",))[0], seeds, probe_seeds)

    def differs(self, ask: Ask) -> str:
        """What was reduced, in words."""
        return self.reduced or (ask.setting.reduced if ask.dataset else "")
