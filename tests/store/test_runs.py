"""Results are found by their whole key and trusted by their checksum; the state of a run is what is on disk."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.heard import Heard
from tests.planted import planted_report, planted_result

from ftt.checked import DamagedError
from ftt.data import Roots
from ftt.data.digits import Digits
from ftt.params import Json
from ftt.progress import shown_on
from ftt.recipe import Recipe
from ftt.result import Result
from ftt.spec import Run, Spec
from ftt.store import Home, RunStore
from ftt.store.checked_json import read_checked, write_checked

SPEC = Spec(data=Digits(), backbone="identity", recipe=Recipe())
RUN = SPEC.identify(Roots.from_environment())
RESULT = planted_result(planted_report({"left": 0.5, "right": 0.75}), spec=SPEC, key=RUN.key)


@pytest.fixture
def heard() -> Iterator[Heard]:
    display = Heard()
    with shown_on(display):
        yield display


def with_result(folder: Path, result: Result = RESULT) -> tuple[RunStore, Path]:
    """A store in which RUN has this result, and the file that says so."""
    runs = RunStore(folder)
    runs.finish(RUN, result)
    return runs, runs.folder(RUN) / "result.json"


def test_finished_run_is_found_and_another_is_not(tmp_path: Path) -> None:
    assert RunStore(tmp_path).find(RUN) is None
    runs, _ = with_result(tmp_path)
    found = runs.find(RUN)
    assert found == RESULT
    assert found is not None
    assert (found.from_store, RESULT.from_store) == (True, False)
    assert runs.find(dataclasses.replace(SPEC, data=Digits(seed=1)).identify(Roots.from_environment())) is None


def test_result_of_another_key_in_the_same_folder_is_not_taken(tmp_path: Path) -> None:
    other = Run(SPEC, RUN.id + "0" * 48)
    runs, _ = with_result(tmp_path, dataclasses.replace(RESULT, run=other))
    assert runs.find(RUN) is None


@pytest.mark.parametrize(
    "content", ["", '{"key": ', "[]", "{}", "null", '{"sha256": "0"}', "\ufeff", '{"sha256": 1e999}', "[" * 100_000]
)
def test_damaged_result_is_reported_and_as_good_as_none(content: str, tmp_path: Path, heard: Heard) -> None:
    runs, path = with_result(tmp_path)
    path.write_text(content)
    assert runs.find(RUN) is None
    assert [str(path) in line and "damaged" in line for line in heard.said] == [True]


def test_one_changed_digit_is_reported_and_the_result_not_taken(tmp_path: Path, heard: Heard) -> None:
    runs, path = with_result(tmp_path)
    whole = path.read_text()
    path.write_text(whole.replace('"right": 200.0', '"right": 201.0', 1))
    assert path.read_text() != whole
    assert runs.find(RUN) is None
    assert list(runs.results()) == []
    assert len(heard.said) == 2
    assert all("its checksum is wrong" in line for line in heard.said)


@pytest.mark.parametrize("missing", ["spec", "probe", "train_log", "environment"])
def test_whole_file_that_is_not_a_result_is_reported_and_not_taken(missing: str, tmp_path: Path, heard: Heard) -> None:
    runs, path = with_result(tmp_path)
    write_checked(path, {name: value for name, value in RESULT.to_json().items() if name != missing})
    assert runs.find(RUN) is None
    assert len(heard.said) == 1


def test_result_of_an_unknown_part_is_reported_and_not_taken(tmp_path: Path, heard: Heard) -> None:
    """Such as a data set of a package that is no longer installed."""
    runs, path = with_result(tmp_path)
    spec = {**SPEC.describe(), "data": {"name": "nowhere"}}
    write_checked(path, {**RESULT.to_json(), "spec": spec})
    assert runs.find(RUN) is None
    assert "nowhere" in heard.said[0]


def test_content_with_a_checksum_comes_back_as_it_was_whatever_the_order_of_its_keys(tmp_path: Path) -> None:
    path = tmp_path / "content.json"
    content: dict[str, Json] = {"b": [1, 0.1, None, True, "ünï"], "a": {"z": 1e-9, "y": []}}
    write_checked(path, content)
    assert read_checked(path) == content
    turned = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(turned.items()))))
    assert read_checked(path) == content
    path.write_text(json.dumps({**turned, "more": 1}))
    with pytest.raises(DamagedError, match="checksum"):
        read_checked(path)


def test_results_of_an_older_format_are_reported_and_skipped(tmp_path: Path, heard: Heard) -> None:
    runs, path = with_result(tmp_path)
    write_checked(tmp_path / "old" / "result.json", {**RESULT.to_json(), "format": 1})
    assert [text["key"] for text in runs.results()] == [RUN.key]
    assert ["older format" in line for line in heard.said] == [True]
    assert path.is_file()


def test_states_tell_stopped_running_and_done(tmp_path: Path) -> None:
    runs = RunStore(tmp_path)
    lock = runs.begin(RUN)
    assert [row["state"] for row in runs.states()] == ["stopped"]
    with lock:
        assert [row["state"] for row in runs.states()] == ["running"]
    runs.finish(RUN, RESULT)
    assert runs.states() == [
        {"run_id": RUN.id, "state": "done", "dataset": "digits", "recipe": "init", "spec": SPEC.describe()}
    ]


def test_spec_is_on_disk_from_the_start_and_reads_back(tmp_path: Path) -> None:
    runs = RunStore(tmp_path)
    runs.begin(RUN)
    kept = json.loads((runs.folder(RUN) / "spec.json").read_text())
    assert Spec.from_description(kept["spec"]).identify(Roots.from_environment()) == RUN
    assert kept["key"] == RUN.key


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"spec": null, "recipe": "erm"}', '{"spec": {"data": []}}'])
def test_run_whose_spec_cannot_be_read_is_reported_and_skipped(content: str, tmp_path: Path, heard: Heard) -> None:
    runs = RunStore(tmp_path)
    runs.begin(RUN)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "spec.json").write_text(content)
    assert [row["run_id"] for row in runs.states()] == [RUN.id]
    assert len(heard.said) == 1


def test_home_is_the_argument_then_the_environment_then_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FTT_HOME", raising=False)
    assert Home.from_environment().root == Path("ftt-home")
    monkeypatch.setenv("FTT_HOME", str(tmp_path / "env"))
    assert Home.from_environment().root == tmp_path / "env"
    assert Home.from_environment(tmp_path / "arg").root == tmp_path / "arg"


def test_home_knows_where_data_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FTT_DATA", str(tmp_path / "placed"))
    monkeypatch.setenv("FTT_CACHE", str(tmp_path / "fetched"))
    assert Home(tmp_path).roots == Roots(tmp_path / "fetched", tmp_path / "placed")
    assert Home.from_environment(cache=tmp_path / "mine").roots == Roots(tmp_path / "mine", tmp_path / "placed")


def test_a_failed_run_is_kept_as_failed_until_it_is_begun_again(tmp_path: Path) -> None:
    runs = RunStore(tmp_path)
    assert runs.state(RUN) == "pending"
    path = runs.fail(RUN, "no memory", "Traceback …", attempts=2)
    kept = json.loads(path.read_text())
    assert (kept["error"], kept["traceback"], kept["attempts"]) == ("no memory", "Traceback …", 2)
    assert runs.state(RUN) == "failed"
    assert [row["state"] for row in runs.states()] == ["failed"]
    runs.begin(RUN)
    assert runs.state(RUN) == "stopped"
    runs.fail(RUN, "again")
    runs.finish(RUN, RESULT)
    assert runs.state(RUN) == "done"
    assert not path.exists()


def test_run_with_a_damaged_spec_is_described_by_its_result_or_skipped(tmp_path: Path, heard: Heard) -> None:
    runs, _ = with_result(tmp_path)
    runs.begin(RUN)
    spec = runs.folder(RUN) / "spec.json"
    spec.write_text(spec.read_text().replace("digits", "digitz"))
    assert [(row["dataset"], row["state"]) for row in runs.states()] == [("digits", "done")]
    (runs.folder(RUN) / "result.json").unlink()
    assert runs.states() == []
    assert "cannot be read and is skipped" in heard.said[-1]
