"""MLflow: one MLflow run per run, in a local SQLite database unless ``MLFLOW_TRACKING_URI`` names another store."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlflow import MlflowClient

from ftt.result import Result
from ftt.runs.callbacks import figures_of, outcome_of, settings_of
from ftt.spec import Run

EXPERIMENT = "ftt"


class MLflow:
    """Writes to the experiment ``ftt``; look at it with ``mlflow ui --backend-store-uri sqlite:///…/mlflow.db``."""

    def __init__(self, folder: Path) -> None:
        uri = os.environ.get("MLFLOW_TRACKING_URI")
        if not uri:
            folder.mkdir(parents=True, exist_ok=True)
            uri = f"sqlite:///{(folder / 'mlflow.db').resolve()}"
        self.client = MlflowClient(tracking_uri=uri, registry_uri=uri)
        self._artifacts = None if os.environ.get("MLFLOW_TRACKING_URI") else (folder / "artifacts").resolve().as_uri()
        self._ids: dict[str, str] = {}

    def on_start(self, run: Run) -> None:
        found = self.client.get_experiment_by_name(EXPERIMENT)
        experiment = found.experiment_id if found else self.client.create_experiment(EXPERIMENT, self._artifacts)
        name = f"{run.spec.data.name} {run.spec.recipe.name} seed {run.spec.seed}"
        started = self.client.create_run(experiment, run_name=name, tags={"ftt.run_id": run.id})
        self._ids[run.id] = started.info.run_id
        for setting, value in settings_of(run).items():
            self.client.log_param(self._ids[run.id], setting, value)

    def on_epoch(self, run: Run, training: int, record: Mapping[str, Any]) -> None:
        for name, value in figures_of(record).items():
            tag = name if training == 0 and record["stage"] == 0 else f"{name}_{training}.{record['stage']}"
            self.client.log_metric(self._ids[run.id], tag, value, step=record["epoch"])

    def on_end(self, run: Run, result: Result | None) -> None:
        mlflow_id = self._ids.pop(run.id)
        for name, value in outcome_of(result).items() if result else ():
            # Names of groups are the user's; MLflow allows few signs in names of metrics.
            self.client.log_metric(mlflow_id, re.sub(r"[^\w\-. /]", "_", name), value)
        self.client.set_terminated(mlflow_id, "FINISHED" if result else "KILLED")
