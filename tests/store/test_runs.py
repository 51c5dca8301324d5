"""Results are found by their whole key; the state of a run is what is on disk."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from filelock import FileLock

from ftt.data.digits import Digits
from ftt.spec import Spec
from ftt.store import Home, RunStore

SPEC = Spec(data=Digits(), backbone="identity", freeze=None, method=None)
RESULT = {"key": SPEC.key, "worst_group_accuracy": 0.5}


def test_finished_run_is_found_and_another_is_not(tmp_path: Path) -> None:
    runs = RunStore(tmp_path)
    assert runs.find(SPEC) is None
    runs.finish(SPEC, RESULT)
    assert runs.find(SPEC) == RESULT
    assert runs.find(dataclasses.replace(SPEC, data=Digits(seed=1))) is None


def test_result_of_another_key_in_the_same_folder_is_not_taken(tmp_path: Path) -> None:
    runs = RunStore(tmp_path)
    runs.finish(SPEC, {**RESULT, "key": SPEC.key[:16] + "0" * 48})
    assert runs.find(SPEC) is None


@pytest.mark.parametrize("content", ["", '{"key": ', "[]", "{}"])
def test_damaged_result_is_as_good_as_none(content: str, tmp_path: Path) -> None:
    runs = RunStore(tmp_path)
    runs.finish(SPEC, RESULT)
    (runs.folder(SPEC) / "result.json").write_text(content)
    assert runs.find(SPEC) is None


def test_states_tell_stopped_running_and_done(tmp_path: Path) -> None:
    runs = RunStore(tmp_path)
    lock = runs.begin(SPEC)
    assert isinstance(lock, FileLock)
    assert [row["state"] for row in runs.states()] == ["stopped"]
    with lock:
        assert [row["state"] for row in runs.states()] == ["running"]
    runs.finish(SPEC, RESULT)
    assert runs.states() == [{"run_id": SPEC.run_id, "state": "done", "spec": SPEC.describe()}]


def test_spec_is_on_disk_from_the_start_and_reads_back(tmp_path: Path) -> None:
    runs = RunStore(tmp_path)
    runs.begin(SPEC)
    kept = json.loads((runs.folder(SPEC) / "spec.json").read_text())
    assert Spec.from_description(kept["spec"]).key == kept["key"] == SPEC.key


def test_home_is_the_argument_then_the_environment_then_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FTT_HOME", raising=False)
    assert Home.from_environment().root == Path("ftt-home")
    monkeypatch.setenv("FTT_HOME", str(tmp_path / "env"))
    assert Home.from_environment().root == tmp_path / "env"
    assert Home.from_environment(tmp_path / "arg").root == tmp_path / "arg"


def test_a_failed_run_is_kept_as_failed_until_it_is_begun_again(tmp_path: Path) -> None:
    runs = RunStore(tmp_path)
    assert runs.state(SPEC) == "pending"
    path = runs.fail(SPEC, "no memory", "Traceback …", attempts=2)
    kept = json.loads(path.read_text())
    assert (kept["error"], kept["traceback"], kept["attempts"]) == ("no memory", "Traceback …", 2)
    assert runs.state(SPEC) == "failed"
    assert [row["state"] for row in runs.states()] == ["failed"]
    runs.begin(SPEC)
    assert runs.state(SPEC) == "stopped"
    runs.fail(SPEC, "again")
    runs.finish(SPEC, RESULT)
    assert runs.state(SPEC) == "done"
    assert not path.exists()
