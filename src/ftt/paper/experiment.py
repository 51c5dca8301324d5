"""An experiment by name: what is asked, which runs answer it, and what they show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

from ftt.errors import FttError, unknown
from ftt.paper.printed_numbers import SAID
from ftt.paper.result_table import AVERAGE, METRICS, WORST, Cell, ResultTable
from ftt.recipe import Recipe
from ftt.report.tables import TextTable
from ftt.settings import BUDGETS, Changes, Setting, setting
from ftt.spec import Spec
from ftt.store import Home

if TYPE_CHECKING:
    from altair import TopLevelMixin


MOST_SEEDS = 1000


@dataclass(frozen=True)
class Request:
    """How an experiment is run; what is None is as the settings say.

    `backbone` replaces that of the settings in every run whose experiment does not choose its own.
    """

    budget: str = "cpu"
    dataset: str = ""
    seeds: int | None = None
    probe_seeds: int | None = None
    backbone: str | None = None

    def __post_init__(self) -> None:
        for name in ("seeds", "probe_seeds"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= MOST_SEEDS:
                raise FttError(
                    f"{name} must be a positive integer",
                    given=repr(value)[:80],
                    allowed=f"1 <= {name} <= {MOST_SEEDS}",
                )
            object.__setattr__(self, name, int(value))

    @property
    def setting(self) -> Setting:
        return setting(self.dataset, self.budget)

    def specs(self, recipe: Recipe, *, at_least: int = 1, backbone: str | None = None, **data: Any) -> tuple[Spec, ...]:
        """One run per training seed, with these parameters of the data set.

        Parameters
        ----------
        at_least : int
            Smallest number of training seeds, for cells that matter more.
        backbone : str, optional
            In place of that of the settings; ``{seed}`` in it becomes the training seed.
        """
        probe = {} if self.probe_seeds is None else {"seeds": self.probe_seeds}
        count = max(self.seeds or self.setting.seeds, at_least)
        return tuple(
            self.setting.spec(
                recipe,
                seed=seed,
                changes=Changes(
                    backbone=backbone.format(seed=seed) if backbone else self.backbone, data=data, probe=probe
                ),
            )
            for seed in range(count)
        )


@dataclass(frozen=True)
class Findings:
    """What an experiment shows: tables, sentences with numbers, charts by file name."""

    tables: list[TextTable]
    sentences: list[str] = field(default_factory=list)
    charts: dict[str, TopLevelMixin] = field(default_factory=dict)


def both_metrics(table: ResultTable, request: Request, home: Home) -> Findings:
    """Worst group and average; where they are the same number everywhere, once."""
    tables = [table.texts(metric) for metric in METRICS]
    same = all(m.values(WORST) == m.values(AVERAGE) for m in table.cells)
    return Findings(tables[1:] if same else tables)


def no_runs(request: Request) -> list[Cell]:
    """For experiments that are not made of runs."""
    return []


@dataclass(frozen=True)
class Experiment:
    """A table or figure by name.

    Attributes
    ----------
    cells : callable
        The runs behind it.
    findings : callable
        What the measured cells show.
    datasets : tuple of str
        Data sets it can be run on, the default first; none where it has its own.
    reduced : str
        What differs from the paper, where the settings do not say it.
    """

    name: str
    title: str
    question: str
    cells: Callable[[Request], list[Cell]] = no_runs
    findings: Callable[[ResultTable, Request, Home], Findings] = both_metrics
    datasets: tuple[str, ...] = ()
    reduced: str = ""

    @property
    def said(self) -> str:
        """What the paper's text says about it."""
        return SAID.get(self.name, "")

    def checked(self, request: Request) -> Request:
        """The request with the default data set filled in, if it can be run."""
        if request.budget not in BUDGETS:
            raise unknown("budget", request.budget, BUDGETS)
        if request.dataset and not self.datasets:
            raise FttError(f"{self.name!r} has its own data", given=request.dataset, allowed="no --dataset")
        if request.dataset and request.dataset not in self.datasets:
            raise unknown(f"data set of {self.name!r}", request.dataset, self.datasets)
        dataset = request.dataset or (self.datasets or ("",))[0]
        return replace(request, dataset=dataset)

    def shows(self, table: ResultTable, request: Request, home: Home) -> Findings:
        """The findings; a collapsed classifier is named whatever the tables and charts are made of."""
        made = self.findings(table, request, home)
        return replace(made, sentences=[*made.sentences, *table.one_class()])

    def differs(self, request: Request) -> str:
        """What was reduced, in words."""
        return self.reduced or (request.setting.reduced if request.dataset else "")
