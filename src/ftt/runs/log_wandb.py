"""Weights & Biases: offline, unless ``WANDB_MODE`` or ``WANDB_API_KEY`` says otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import wandb

from ftt.result import Result
from ftt.runs.callbacks import figures_of, outcome_of, settings_of
from ftt.spec import Run

PROJECT = "ftt"


class WeightsAndBiases:
    """Writes to ``<folder>/wandb``; ``wandb sync`` sends an offline run to the server."""

    def __init__(self, folder: Path) -> None:
        # The process that writes may have been started from another folder.
        self.folder = folder.resolve()
        self._runs: dict[str, Any] = {}

    def on_start(self, run: Run) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        online = os.environ.get("WANDB_MODE") or os.environ.get("WANDB_API_KEY")
        self._runs[run.id] = wandb.init(
            project=os.environ.get("WANDB_PROJECT") or PROJECT,
            name=f"{run.spec.data.name} {run.spec.recipe.name} seed {run.spec.seed}",
            config=settings_of(run),
            dir=str(self.folder),
            mode=None if online else "offline",
            reinit="create_new",
            settings=wandb.Settings(silent=True),
        )

    def on_epoch(self, run: Run, training: int, record: Mapping[str, Any]) -> None:
        place = {"training": training, "stage": record["stage"], "epoch": record["epoch"]}
        self._runs[run.id].log({**place, **figures_of(record)})

    def on_end(self, run: Run, result: Result | None) -> None:
        started = self._runs.pop(run.id)
        if result is not None:
            # The last value of what is logged becomes the summary of the run.
            started.log(outcome_of(result))
        started.finish(exit_code=0 if result else 1)
