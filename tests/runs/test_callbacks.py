"""Callbacks are told about every epoch and the end of a run, and cannot harm it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.heard import Heard

from ftt.data.digits import Digits
from ftt.errors import FttError
from ftt.progress import shown_on
from ftt.recipe import preset
from ftt.result import Result
from ftt.runs import runner
from ftt.runs.callbacks import Told, chosen, outcome_of, settings_of, tracker
from ftt.runs.runner import run_spec
from ftt.spec import Run, Spec, Training
from ftt.store import Home

SPEC = Spec(data=Digits(core_noise=0.2), backbone="tinyconv", recipe=preset("erm"), train=Training(epochs=2))


class Diary:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.epochs: list[tuple[int, int]] = []
        self.ends: list[Result | None] = []
        self.starts = 0

    def on_start(self, run: Run) -> None:
        self.starts += 1

    def on_epoch(self, run: Run, training: int, record: Mapping[str, Any]) -> None:
        self.epochs.append((training, record["epoch"]))

    def on_end(self, run: Run, result: Result | None) -> None:
        self.ends.append(result)


class Clumsy(Diary):
    """Fails at every epoch."""

    def on_epoch(self, run: Run, training: int, record: Mapping[str, Any]) -> None:
        raise OSError("disk full")


def test_a_run_tells_its_epochs_as_they_end_and_then_its_result(tmp_path: Path) -> None:
    diary, clumsy = Diary(), Clumsy()
    with shown_on(heard := Heard()):
        result = run_spec(SPEC, Home(tmp_path), callbacks=[clumsy, diary])
    assert (diary.starts, diary.epochs, diary.ends) == (1, [(0, 0), (0, 1)], [result])
    # One that fails is reported once and not asked again.
    assert sum("goes on without a callback that failed" in said for said in heard.said) == 1
    assert clumsy.ends == []
    again = Diary()
    stored = run_spec(SPEC, Home(tmp_path), callbacks=[again])
    assert stored.from_store
    assert (again.epochs, again.ends) == (diary.epochs, [stored])


def test_a_run_that_fails_ends_without_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("lightning")

    monkeypatch.setattr(runner, "fit", fail)
    diary = Diary()
    with pytest.raises(RuntimeError, match="lightning"):
        run_spec(SPEC, Home(tmp_path), callbacks=[diary])
    assert diary.ends == [None]


def test_a_second_training_of_the_same_run_has_its_own_number() -> None:
    diary = Diary()
    told = Told(Run(SPEC, "0" * 64), [diary])
    first, second = [{"epoch": 0}, {"epoch": 1}], [{"epoch": 0}]
    told.epochs(first[:1])
    told.epochs(first)
    told.epochs(second)
    assert diary.epochs == [(0, 0), (0, 1), (1, 0)]


def test_settings_are_flat_and_named_as_in_a_sweep() -> None:
    settings = settings_of(Run(SPEC, "0" * 64))
    assert (settings["data.core_noise"], settings["train.epochs"], settings["recipe.name"]) == (0.2, 2, "erm")


def test_an_unknown_tracker_is_refused_and_none_is_chosen_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FTT_LOG", raising=False)
    assert chosen(tmp_path) == []
    with pytest.raises(FttError, match="no tracker called 'tensorbord'"):
        tracker("tensorbord", tmp_path)


def made(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Result:
    """A run that is logged as `ftt run --log NAME` logs it."""
    for variable in ("MLFLOW_TRACKING_URI", "WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("FTT_LOG", f"{name}:{tmp_path / 'log'}")
    with shown_on(heard := Heard()):
        result = run_spec(SPEC, Home(tmp_path / "home"))
    assert not any("callback" in said for said in heard.said), heard.said
    return result


@pytest.mark.slow
def test_tensorboard_event_files_hold_epochs_and_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    result = made(tmp_path, "tensorboard", monkeypatch)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "log" / result.run.id))
    events.Reload()
    losses = [(event.step, event.value) for event in events.Scalars("train/loss")]
    assert losses == [(r["epoch"], pytest.approx(r["loss"], rel=1e-6)) for r in result.train_log]
    (worst,) = events.Scalars("test/worst_group_accuracy")
    assert worst.value == pytest.approx(result.worst_group_accuracy)


@pytest.mark.slow
def test_mlflow_database_holds_settings_epochs_and_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy")
    result = made(tmp_path, "mlflow", monkeypatch)
    uri = f"sqlite:///{tmp_path / 'log' / 'mlflow.db'}"
    client = mlflow.MlflowClient(tracking_uri=uri, registry_uri=uri)
    experiment = client.get_experiment_by_name("ftt")
    (found,) = client.search_runs([experiment.experiment_id])
    assert found.info.status == "FINISHED"
    assert found.data.tags["ftt.run_id"] == result.run.id
    assert found.data.params["data.core_noise"] == "0.2"
    losses = client.get_metric_history(found.info.run_id, "train/loss")
    assert [(m.step, m.value) for m in losses] == [(r["epoch"], pytest.approx(r["loss"])) for r in result.train_log]
    assert found.data.metrics["test/worst_group_accuracy"] == pytest.approx(result.worst_group_accuracy)
    assert len(outcome_of(result)) == sum(name.startswith("test/") for name in found.data.metrics)


@pytest.mark.slow
def test_weights_and_biases_writes_an_offline_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    result = made(tmp_path, "wandb", monkeypatch)
    (log,) = (tmp_path / "log").rglob("run-*.wandb")
    assert "offline-run" in str(log)
    # Records are protocol buffers: names and texts are in them as they are. Another process writes them.
    wanted = [text.encode() for text in ("test/worst_group_accuracy", "train/loss", result.run.id)]
    deadline = time.monotonic() + 60
    while not all(text in log.read_bytes() for text in wanted):
        assert time.monotonic() < deadline, [text for text in wanted if text not in log.read_bytes()]
        time.sleep(0.5)
