"""A sweep that was run: one row per run, as objects, JSON or a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftt.launch.launcher import Outcome
from ftt.params import Json
from ftt.runs.sweep_file import Sweep

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class SweepResult:
    """A sweep that was run: its file, and how each of its runs ended."""

    sweep: Sweep
    outcomes: Sequence[Outcome]

    @property
    def failed(self) -> dict[str, str]:
        """Why runs failed, by their id."""
        return {outcome.run.id: outcome.error for outcome in self.outcomes if outcome.error is not None}

    def rows(self) -> list[dict[str, Json]]:
        """One object per run: what was given, and how it ended."""
        return [
            {
                "run_id": outcome.run.id,
                "given": planned.given,
                "state": "failed" if outcome.error else "done",
                "worst_group_accuracy": outcome.result.worst_group_accuracy if outcome.result else None,
                "average_accuracy": outcome.result.average_accuracy if outcome.result else None,
                "one_class": outcome.result.collapsed if outcome.result else None,
                "from_store": outcome.result.from_store if outcome.result else None,
                "error": outcome.error,
                "spec": outcome.run.spec.describe(),
            }
            for planned, outcome in zip(self.sweep.runs, self.outcomes, strict=True)
        ]

    def to_json(self) -> dict[str, Json]:
        total = len({outcome.run.key for outcome in self.outcomes})
        return {"name": self.sweep.name, "total": total, "failed": len(self.failed), "runs": self.rows()}

    def _repr_html_(self) -> str:
        html: str = self.to_frame().to_html(index=False)
        return html

    def to_frame(self) -> DataFrame:
        """One row per run: the fields in which runs differ, both accuracies, one class only or not, state."""
        import pandas

        varied, rows = self.sweep.varied(), self.rows()
        given = [{name: planned.given.get(name) for name in varied} for planned in self.sweep.runs]
        figures = ("worst_group_accuracy", "average_accuracy", "one_class", "state", "run_id")
        return pandas.DataFrame(
            [{**g, **{name: row[name] for name in figures}} for g, row in zip(given, rows, strict=True)]
        )
