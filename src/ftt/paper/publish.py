"""An experiment as files: the page with its tables, the pictures, and every run behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ftt.atomic import replacing
from ftt.paper.experiment import Experiment, Findings, Request
from ftt.paper.result_table import AVERAGE, WORST, ResultTable
from ftt.params import Json, canonical
from ftt.version import __version__

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Reproduction:
    """An experiment that was run: what was asked, what was measured, and what it shows."""

    experiment: Experiment
    request: Request
    table: ResultTable
    findings: Findings
    failures: dict[str, str] = field(default_factory=dict)
    files: Sequence[Path] = ()

    @property
    def command(self) -> str:
        """The command that makes it again."""
        request, words = self.request, ["ftt reproduce", self.experiment.name, f"--budget {self.request.budget}"]
        if len(self.experiment.datasets) > 1:
            words.append(f"--dataset {request.dataset}")
        if request.seeds is not None:
            words.append(f"--seeds {request.seeds}")
        if request.probe_seeds is not None:
            words.append(f"--probe-seeds {request.probe_seeds}")
        if request.backbone is not None:
            # The path of a weight file is nobody else's.
            words.append(f"--backbone {request.backbone.partition('@')[0]}{'@FILE' * ('@' in request.backbone)}")
        return " ".join(words)

    @property
    def stem(self) -> str:
        """The name of its files: the data set is part of it where there is a choice."""
        datasets = self.experiment.datasets
        several = len(datasets) > 1 and self.request.dataset != datasets[0]
        return f"{self.experiment.name}-{self.request.dataset}" if several else self.experiment.name

    def records(self) -> list[dict[str, Json]]:
        """One record per run: its place in the table, its figures and times, and its Spec."""
        return [
            {
                "row": m.cell.row,
                "column": m.cell.column,
                "run_id": result.run.id,
                "seed": result.spec.seed,
                WORST: result.worst_group_accuracy,
                AVERAGE: result.average_accuracy,
                "probe": result.to_json()["probe"],
                "judged": {"label": result.judged.label, "attribute": result.judged.attribute},
                "seconds": result.seconds,
                "environment": result.environment,
                "version": result.version,
                "spec": result.spec.describe(),
            }
            for m in self.table.cells
            for result in m.results
        ]

    def to_json(self) -> dict[str, Json]:
        return {
            "name": self.experiment.name,
            "budget": self.request.budget,
            "findings": self.findings.sentences,
            "tables": [table.to_json() for table in self.findings.tables],
            "runs": self.records(),
            "failed": self.failures,
            "files": [str(path) for path in self.files],
        }

    def to_frame(self) -> DataFrame:
        """One row per run: row and column of the table, training seed, both accuracies."""
        import pandas

        names = ("row", "column", "seed", WORST, AVERAGE, "run_id")
        return pandas.DataFrame([{name: record[name] for name in names} for record in self.records()], columns=names)

    def to_markdown(self, pictures: Sequence[str] = ()) -> str:
        """The page: question, findings, pictures, tables, and how it was made."""
        lines = [f"# {self.experiment.title}", "", self.experiment.question, ""]
        if self.experiment.said:
            lines += [f"**The paper:** {self.experiment.said}", ""]
        if self.findings.sentences:
            lines += ["**Here:**", "", *(f"- {sentence}" for sentence in self.findings.sentences), ""]
        lines += [f"**Reduced against the paper:** {self.experiment.differs(self.request)}.", ""]
        for picture in pictures:
            lines += [f"![{Path(picture).stem}]({picture})", ""]
        lines += [table.to_markdown() for table in self.findings.tables]
        return "\n".join([*lines, *self._how()]) + "\n"

    def _how(self) -> list[str]:
        lines = [f"Command: `{self.command}`, ftt {__version__}."]
        cells = self.table.cells
        if not cells:
            return lines
        missing = sum(len(m.cell.specs) - len(m.results) for m in cells)
        kinds = sorted({"clean" if result.report.clean else "observed" for m in cells for result in m.results})
        lines[0] += (
            f" {sum(len(m.results) for m in cells)} runs{f', {missing} missing' if missing else ''}; "
            f"every one with its Spec, seeds and times is in [{self.stem}.jsonl]({self.stem}.jsonl)."
        )
        return [
            *lines,
            "",
            "A cell is the mean ± standard error over training seeds, (training seeds × probe seeds), then the paper's "
            "number and the difference; with one training seed there is no error. "
            f"Probed on noisy target data, judged on {' and '.join(kinds)} test labels.",
        ]

    def __str__(self) -> str:
        return self.to_markdown()

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def publish(made: Reproduction, folder: Path) -> list[Path]:
    """Write page, pictures and runs into a folder."""
    from ftt.report import charts

    pictures = []
    for chart, drawn in made.findings.charts.items():
        name = chart.replace(made.experiment.name, made.stem, 1)
        pictures += charts.save(drawn, folder, name, formats=("png",))
    page = folder / f"{made.stem}.md"
    with replacing(page) as scratch:
        scratch.write_text(made.to_markdown([path.name for path in pictures]), encoding="utf-8")
    if not made.table.cells:
        return [page, *pictures]
    runs = folder / f"{made.stem}.jsonl"
    with replacing(runs) as scratch:
        scratch.write_text("".join(canonical(record) + "\n" for record in made.records()), encoding="utf-8")
    return [page, *pictures, runs]
