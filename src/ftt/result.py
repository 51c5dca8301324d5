"""What a run gave: a report per probe seed, their mean, timings, log and environment. JSON is its written form."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from ftt.arrays import FloatArray, IntArray, unpack
from ftt.metrics import GroupReport
from ftt.params import Json
from ftt.spec import FORMAT, Run, Spec
from ftt.version import __version__

if TYPE_CHECKING:
    from pandas import DataFrame


ONE_CLASS = "predicts one class only on test"
"""The beginning of the warning about a classifier that has collapsed."""


@dataclass(frozen=True)
class ProbeResult:
    """One probing: its seed, the C it chose, how each C did on held-out halves, its report and predictions on test.

    `predicted` holds class codes in the order of the test split, packed (`ftt.arrays.unpack`).
    """

    seed: int
    C: float
    at_edge: bool
    converged: bool
    worst_by_C: dict[float, float]  # noqa: N815
    report: GroupReport
    predicted: str

    def to_json(self) -> dict[str, Json]:
        return {
            "seed": self.seed,
            "C": self.C,
            "at_edge": self.at_edge,
            "converged": self.converged,
            "worst_by_C": {f"{C:g}": score for C, score in self.worst_by_C.items()},
            "predicted": self.predicted,
            **self.report.to_json(),
        }

    @classmethod
    def from_json(cls, text: Mapping[str, Any]) -> ProbeResult:
        return cls(
            seed=text["seed"],
            C=text["C"],
            at_edge=text["at_edge"],
            converged=text["converged"],
            worst_by_C={float(C): score for C, score in text["worst_by_C"].items()},
            report=GroupReport.from_json(text),
            predicted=text["predicted"],
        )


@dataclass(frozen=True)
class Judged:
    """The test rows that a run was judged on: label and attribute codes in their order, packed."""

    label: str
    attribute: str


@dataclass(frozen=True)
class Result:
    """The result of one run.

    Attributes
    ----------
    run : Run
        What was run, and its key.
    probes : tuple of ProbeResult
        One per probe seed.
    judged : Judged
        The test rows.
    dims : int
        Number of features that were probed on.
    warnings : tuple of str
        What the reader should know: C at the edge of its grid, a probe that did not converge.
    explained_variance : float, optional
        Share of the variance of the initial features that the frozen ones keep.
    noise : dict
        The core and spurious noise of the training split as far as they are known.
    train_log : list of dict
        One record per epoch.
    seconds : dict of str to float
        Wall time by stage.
    environment : dict
        Versions, instruction set and threads: trained numbers move with them.
    train_rows : tuple of tuples of int
        (K, A) training rows by observed label and attribute; empty in results of older versions.
    from_store : bool
        Whether it was looked up rather than computed.
    """

    run: Run
    probes: tuple[ProbeResult, ...]
    judged: Judged
    dims: int
    warnings: tuple[str, ...]
    explained_variance: float | None
    noise: dict[str, float | None]
    train_log: list[dict[str, Any]]
    seconds: dict[str, float]
    environment: dict[str, Json]
    version: str = __version__
    train_rows: tuple[tuple[int, ...], ...] = ()
    from_store: bool = field(default=False, compare=False)

    @property
    def spec(self) -> Spec:
        return self.run.spec

    @cached_property
    def report(self) -> GroupReport:
        """The mean over probe seeds."""
        return GroupReport.mean([probe.report for probe in self.probes])

    @property
    def worst_group(self) -> str:
        return self.report.worst[0]

    @property
    def worst_group_accuracy(self) -> float:
        """The paper's figure: accuracy of the worst attribute group, averaged over probe seeds."""
        return self.report.worst[1].value

    @property
    def worst_cell_accuracy(self) -> float:
        """Accuracy of the worst label within an attribute group, averaged over probe seeds."""
        return self.report.worst_of_label_and_attribute[1].value

    @property
    def average_accuracy(self) -> float:
        return self.report.overall.value

    @property
    def adjusted_average_accuracy(self) -> float | None:
        """WILDS' adjusted average: groups of label and attribute weighted by their share of the training rows.

        None where these shares are not known, or where a group has training rows but no test rows.
        """
        rates = self.report.by_label_and_attribute
        weights = dict(zip(rates, (n for row in self.train_rows for n in row), strict=False))
        if not weights or any(n and not rates[group].n for group, n in weights.items()):
            return None
        return self.report.weighted_average({group: float(n) for group, n in weights.items()})

    @property
    def collapsed(self) -> bool:
        """Whether a probe gives every test row the same class, so that its accuracies are those of a constant."""
        return any(warning.startswith(ONE_CLASS) for warning in self.warnings)

    @property
    def C(self) -> float:  # noqa: N802
        """The C that most probe seeds chose."""
        return Counter(probe.C for probe in self.probes).most_common(1)[0][0]

    @property
    def labels(self) -> IntArray:
        """(n,) labels that the test rows were judged by."""
        return unpack(self.judged.label)

    def rows(self) -> tuple[FloatArray, IntArray]:
        """(n,) share of probe seeds that got each test row right, and (n,) its attribute code."""
        label = self.labels
        right = np.mean([unpack(probe.predicted) == label for probe in self.probes], axis=0)
        return right, unpack(self.judged.attribute)

    def looked_up(self) -> Result:
        """The same result, marked as read from the store."""
        return replace(self, from_store=True)

    def to_json(self) -> dict[str, Json]:
        """The written form; `from_json` reads it back."""
        grid = self.probes[0].worst_by_C
        return {
            "format": FORMAT,
            "version": self.version,
            "run_id": self.run.id,
            "key": self.run.key,
            "recipe": self.spec.recipe.name,
            "spec": self.spec.describe(),
            **self.report.to_json(),
            "adjusted_average_accuracy": self.adjusted_average_accuracy,
            "probe": {
                "C": self.C,
                "at_edge": any(probe.at_edge for probe in self.probes),
                "converged": all(probe.converged for probe in self.probes),
                "worst_by_C": {f"{C:g}": fmean(probe.worst_by_C[C] for probe in self.probes) for C in grid},
                "dims": self.dims,
                "warnings": list(self.warnings),
                "seeds": [probe.to_json() for probe in self.probes],
            },
            "judged": {"label": self.judged.label, "attribute": self.judged.attribute},
            "explained_variance": self.explained_variance,
            "noise": self.noise,
            "train_rows": [list(row) for row in self.train_rows],
            "train_log": self.train_log,
            "seconds": self.seconds,
            "environment": self.environment,
            "from_store": self.from_store,
        }

    @classmethod
    def from_json(cls, text: Mapping[str, Any]) -> Result:
        """Read back what `to_json` wrote."""
        probe = text["probe"]
        return cls(
            run=Run(Spec.from_description(text["spec"]), text["key"]),
            probes=tuple(ProbeResult.from_json(seed) for seed in probe["seeds"]),
            judged=Judged(**text["judged"]),
            dims=probe["dims"],
            warnings=tuple(probe["warnings"]),
            explained_variance=text["explained_variance"],
            noise=text["noise"],
            train_log=text["train_log"],
            seconds=text["seconds"],
            environment=text["environment"],
            version=text["version"],
            train_rows=tuple(tuple(row) for row in text.get("train_rows", ())),
            from_store=text["from_store"],
        )

    def to_frame(self) -> DataFrame:
        """One row per group: label, group, accuracy, interval, n."""
        return self.report.to_frame()

    def __str__(self) -> str:
        return "\n".join([self.title(), str(self.report), *(f"note: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.title())}</p>{self.report._repr_html_()}"

    def title(self) -> str:
        """Data, backbone and recipe in one line."""
        return f"{self.spec.data.name} · {self.spec.backbone} · {self.spec.recipe.name}"
