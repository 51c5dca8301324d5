"""TensorBoard: one folder of event files per run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from ftt.result import Result
from ftt.runs.callbacks import figures_of, outcome_of, settings_of
from ftt.spec import Run


class TensorBoard:
    """Writes to ``<folder>/<run id>``; look at it with ``tensorboard --logdir <folder>``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writers: dict[str, Any] = {}

    def on_start(self, run: Run) -> None:
        writer: Any = SummaryWriter(str(self.folder / run.id))
        rows = "\n".join(f"| {name} | {value} |" for name, value in settings_of(run).items())
        writer.add_text("settings", f"| setting | value |\n|---|---|\n{rows}")
        self._writers[run.id] = writer

    def on_epoch(self, run: Run, training: int, record: Mapping[str, Any]) -> None:
        for name, value in figures_of(record).items():
            tag = name if training == 0 and record["stage"] == 0 else f"{name}, training {training}.{record['stage']}"
            self._writers[run.id].add_scalar(tag, value, record["epoch"])

    def on_end(self, run: Run, result: Result | None) -> None:
        writer = self._writers.pop(run.id)
        if result is not None:
            for name, value in outcome_of(result).items():
                writer.add_scalar(name, value, 0)
        writer.close()
