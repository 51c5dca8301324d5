"""Who is told how a run goes: one small interface, and experiment trackers behind it.

``FTT_LOG=tensorboard`` (or ``--log``) sends every run of a process and of its workers to a tracker;
``ftt.run(…, callbacks=[…])`` to objects of your own. A callback sees a run and never changes it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from ftt.errors import FttError, unknown
from ftt.progress import say
from ftt.result import Result
from ftt.spec import Run

VARIABLE = "FTT_LOG"
TRACKERS = {
    "tensorboard": ("ftt.runs.log_tensorboard", "TensorBoard"),
    "mlflow": ("ftt.runs.log_mlflow", "MLflow"),
    "wandb": ("ftt.runs.log_wandb", "WeightsAndBiases"),
}
"""Trackers by name: module and class, imported when chosen, since each needs the extra ``[log]``."""


class Callback(Protocol):
    """What is called while a run goes on.

    A training that was found in the store has no epochs of its own; they are reported when the run ends.
    """

    def on_start(self, run: Run) -> None:
        """Once per run, before anything is computed."""
        ...

    def on_epoch(self, run: Run, training: int, record: Mapping[str, Any]) -> None:
        """After every epoch.

        Parameters
        ----------
        training : int
            Number of the training within the run, from 0; recipes such as ``taught`` have several.
        record : mapping
            ``stage``, ``epoch``, ``loss``, ``accuracy``, ``accuracy_by_group``, on the observed labels.
        """
        ...

    def on_end(self, run: Run, result: Result | None) -> None:
        """When the run has ended; `result` is None if it failed or was stopped."""
        ...


def settings_of(run: Run) -> dict[str, str | int | float | bool | None]:
    """The settings of a run by dotted name, as trackers list them."""
    found: dict[str, Any] = {"recipe.name": run.spec.recipe.name, "run_id": run.id}

    def walk(above: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for name, below in value.items():
                walk(f"{above}.{name}" if above else name, below)
        else:
            found[above] = str(value) if isinstance(value, list) else value

    walk("", run.spec.describe())
    return found


def figures_of(record: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of one epoch: loss, accuracy, and that of the worst group that has rows."""
    groups = [rate for row in record["accuracy_by_group"] for rate in row if rate is not None]
    return {"train/loss": record["loss"], "train/accuracy": record["accuracy"], "train/worst_group": min(groups)}


def outcome_of(result: Result) -> dict[str, float]:
    """The numbers of a finished run: worst group, average, and every group that has rows."""
    report = result.report
    found = {
        "test/worst_group_accuracy": result.worst_group_accuracy,
        "test/average_accuracy": result.average_accuracy,
        "test/headline_accuracy": report.headline[1].value,
    }
    cells = report.by_label_and_attribute.items()
    return found | {f"test/{label}, {name}": rate.value for (label, name), rate in cells if rate.n}


def tracker(choice: str, home: Path) -> Callback:
    """The tracker of ``name`` or ``name:folder``; by default it writes below the home folder."""
    name, _, folder = choice.partition(":")
    if name not in TRACKERS:
        raise unknown("tracker", name, TRACKERS)
    module, attribute = TRACKERS[name]
    try:
        made: Callback = getattr(importlib.import_module(module), attribute)(Path(folder) if folder else home / name)
    except ImportError as error:
        raise FttError(
            f"{name} is not installed",
            given=f"--log {name} ({error})",
            allowed="the extra [log]",
            hint="pip install 'freeze-then-train[log]'",
        ) from None
    return made


def chosen(home: Path) -> list[Callback]:
    """The trackers that ``FTT_LOG`` names."""
    return [tracker(choice.strip(), home) for choice in os.environ.get(VARIABLE, "").split(",") if choice.strip()]


class Told:
    """Callbacks of one run; one that raises is reported and left out, since the run matters more."""

    def __init__(self, run: Run, callbacks: Sequence[Callback]) -> None:
        self.run = run
        self.callbacks = list(callbacks)
        self._training, self._sent, self._heard = 0, 0, False

    def start(self) -> None:
        self._each("on_start", self.run)

    def epochs(self, log: Sequence[Mapping[str, Any]]) -> None:
        """The log of the training in progress, whole as it is; what is new of it is passed on."""
        if len(log) <= self._sent:
            self._training, self._sent = self._training + 1, 0
        for record in log[self._sent :]:
            self._each("on_epoch", self.run, self._training, record)
        self._sent, self._heard = len(log), True

    def end(self, result: Result | None) -> None:
        if result is not None and not self._heard and result.train_log:
            self.epochs(result.train_log)
        self._each("on_end", self.run, result)

    def _each(self, name: str, *arguments: Any) -> None:
        for callback in list(self.callbacks):
            try:
                getattr(callback, name)(*arguments)
            except Exception as error:  # libraries of others, and perhaps a network
                self.callbacks.remove(callback)
                what = f"{type(callback).__name__}.{name}: {type(error).__name__}: {error}"
                say(f"run {self.run.id} goes on without a callback that failed: {what}")


@contextmanager
def telling(run: Run, callbacks: Sequence[Callback]) -> Iterator[Told]:
    """Tell callbacks that a run starts, and in any case that it ended."""
    told = Told(run, callbacks)
    told.start()
    try:
        yield told
    except BaseException:
        told.end(None)
        raise
