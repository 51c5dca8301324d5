"""The index of finished runs: it repeats what results say, notices what changed, and makes thousands quick to list."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.heard import Heard
from tests.planted import with_accuracies

from ftt.data import Roots
from ftt.data.digits import Digits
from ftt.methods.erm import ERM
from ftt.progress import shown_on
from ftt.recipe import Recipe
from ftt.spec import Spec
from ftt.store import RunStore, runs
from ftt.store.checked_json import write_checked
from ftt.store.index import Index, stamp_of, summary
from ftt.store.query import collect

SPEC = Spec(data=Digits(core_noise=0.2), backbone="tinyconv", recipe=Recipe(None, ERM()))
RUN = SPEC.identify(Roots.from_environment())
RESULT = replace(with_accuracies(0.5, 0.6, spec=SPEC), run=RUN)


@pytest.fixture
def heard() -> Iterator[Heard]:
    display = Heard()
    with shown_on(display):
        yield display


def test_a_finished_run_is_listed_without_reading_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RunStore(tmp_path)
    with store.begin(RUN):
        store.finish(RUN, RESULT)
    monkeypatch.setattr(runs, "read_checked", lambda path: pytest.fail(f"{path} was read"))
    assert list(store.results()) == [summary(RESULT.to_json())]
    assert [row["state"] for row in store.states()] == ["done"]


def test_a_result_that_was_written_again_is_read_again(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    with store.begin(RUN):
        store.finish(RUN, RESULT)
    assert collect(store).column("worst_group_accuracy").to_pylist() == [0.5]
    better = {**RESULT.to_json(), "worst_group_accuracy": 0.75}
    write_checked(store.folder(RUN) / "result.json", better)
    assert collect(store).column("worst_group_accuracy").to_pylist() == [0.75]
    assert len((tmp_path / "index.jsonl").read_bytes().splitlines()) == 2


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe\n", b"00000000 {}\n", b"deadbeef [1]\n"])
def test_a_damaged_index_is_made_again(damage: bytes, tmp_path: Path, heard: Heard) -> None:
    store = RunStore(tmp_path)
    with store.begin(RUN):
        store.finish(RUN, RESULT)
    (tmp_path / "index.jsonl").write_bytes(damage)
    assert list(store.results()) == [summary(RESULT.to_json())]
    assert list(Index(tmp_path).lines()) == [RUN.id]
    assert heard.said == []


def test_a_store_that_may_not_be_written_to_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checked(tmp_path / RUN.id / "result.json", RESULT.to_json())
    opened = os.open

    def refuse(path: str | Path, flags: int, mode: int = 0o777) -> int:
        if str(path).endswith("index.jsonl"):
            raise PermissionError(path)
        return opened(path, flags, mode)

    monkeypatch.setattr(os, "open", refuse)
    assert [row["run_id"] for row in RunStore(tmp_path).results()] == [RUN.id]
    assert not (tmp_path / "index.jsonl").exists()


def test_lines_that_no_longer_count_are_dropped(tmp_path: Path) -> None:
    index = Index(tmp_path)
    for number in range(300):
        index.add("one", [number, 0], {})
    assert index.lines()["one"].stamp == [299, 0]
    assert len(index.path.read_bytes().splitlines()) == 1


@pytest.mark.slow
def test_ten_thousand_finished_runs_are_listed_in_seconds(tmp_path: Path) -> None:
    store, content = RunStore(tmp_path), RESULT.to_json()
    for number in range(10_000):
        key = f"{number:016x}"
        folder = tmp_path / key
        folder.mkdir()
        (folder / "result.json").write_text(json.dumps(content))
        stamp = stamp_of(folder / "result.json")
        assert stamp is not None
        store._index.add(key, stamp, summary({**content, "run_id": key, "key": key}))
    start = time.process_time()
    assert collect(store).num_rows == 10_000
    assert len(store.states()) == 10_000
    # Both together, so that a busy machine does not fail it; each takes about half a second alone.
    assert time.process_time() - start < 4
