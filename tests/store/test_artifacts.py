"""What is kept comes back bit for bit; what is half written, damaged or not an array never does."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from safetensors import SafetensorError

from ftt.caching import Artifact
from ftt.store import ArtifactStore

KEY = "ab" * 32
ARTIFACT = Artifact(
    {
        "phi": np.arange(12, dtype=np.float32).reshape(3, 4),
        "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "count": np.array(7),
        "nothing": np.zeros((5, 0), dtype=np.float32),
        "mask": np.array([True, False]),
    },
    {"log": [{"epoch": 0, "loss": 0.25}], "name": "ünï"},
)


def must_not_make() -> Artifact:
    raise AssertionError("it was made again")


def assert_same(one: Artifact, other: Artifact) -> None:
    assert one.notes == other.notes
    assert sorted(one.arrays) == sorted(other.arrays)
    for name, value in one.arrays.items():
        assert other.arrays[name].dtype == value.dtype
        assert other.arrays[name].shape == value.shape
        np.testing.assert_array_equal(other.arrays[name], value)


def test_arrays_and_notes_come_back_as_they_were_and_are_made_once(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    assert_same(store.keep("features", KEY, lambda: ARTIFACT), ARTIFACT)
    assert_same(ArtifactStore(tmp_path).keep("features", KEY, must_not_make), ARTIFACT)
    assert store.made == {"features": 1}


def test_stages_and_keys_do_not_share(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    for number, (stage, key) in enumerate([("a", KEY), ("b", KEY), ("a", KEY[:-1] + "0")]):
        made = store.keep(stage, key, lambda number=number: Artifact({"n": np.array([number])}))  # type: ignore[misc]
        assert made.arrays["n"].tolist() == [number]


def test_writer_killed_halfway_leaves_nothing_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ArtifactStore(tmp_path)

    def die_halfway(arrays: object, path: Path, metadata: object) -> None:
        Path(path).write_bytes(b"half a file")
        raise KeyboardInterrupt

    monkeypatch.setattr("ftt.checked.save_file", die_halfway)
    with pytest.raises(KeyboardInterrupt):
        store.keep("features", KEY, lambda: ARTIFACT)
    monkeypatch.undo()
    assert not store.path("features", KEY).exists()
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] in ([], [".lock"])
    assert_same(store.keep("features", KEY, lambda: ARTIFACT), ARTIFACT)


def test_maker_that_fails_leaves_nothing_and_the_next_may_try(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)

    def fail() -> Artifact:
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory"):
        store.keep("features", KEY, fail)
    assert_same(store.keep("features", KEY, lambda: ARTIFACT), ARTIFACT)


@pytest.mark.parametrize("how", ["truncated", "empty", "one bit", "garbage", "not by us"])
def test_damaged_file_is_made_again(how: str, tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    store = ArtifactStore(tmp_path)
    store.keep("features", KEY, lambda: ARTIFACT)
    path = store.path("features", KEY)
    whole = path.read_bytes()
    if how == "not by us":
        save_file({"phi": np.zeros(2)}, path)
    else:
        path.write_bytes(
            {
                "truncated": whole[:-3],
                "empty": b"",
                "one bit": whole[:-1] + bytes([whole[-1] ^ 1]),
                "garbage": b"\xff" * 100,
            }[how]
        )
    assert_same(store.keep("features", KEY, lambda: ARTIFACT), ARTIFACT)
    assert store.made == {"features": 2}
    assert_same(store.keep("features", KEY, must_not_make), ARTIFACT)


@pytest.mark.parametrize("values", [np.array([{}], dtype=object), np.array(["text"])], ids=["objects", "texts"])
def test_arrays_that_would_need_pickle_are_refused_and_not_kept(values: npt.NDArray[Any], tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    with pytest.raises((SafetensorError, ValueError, TypeError)):
        store.keep("features", KEY, lambda: Artifact({"bad": values}))
    assert not store.path("features", KEY).exists()


def _make_slowly(folder: str, barrier: Any, sink: Any) -> None:
    def make() -> Artifact:
        with (Path(folder) / "makers").open("a") as log:
            log.write("made\n")
        time.sleep(0.3)
        return ARTIFACT

    barrier.wait()
    kept = ArtifactStore(Path(folder)).keep("features", KEY, make)
    sink.put(float(kept.arrays["phi"].sum()))


def test_two_processes_that_want_the_same_make_it_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier, sink = context.Barrier(2), context.Queue()
    workers = [context.Process(target=_make_slowly, args=(str(tmp_path), barrier, sink)) for _ in range(2)]
    for worker in workers:
        worker.start()
    sums = [sink.get(timeout=30) for _ in workers]
    for worker in workers:
        worker.join(timeout=30)
        assert worker.exitcode == 0
    assert sums == [66.0, 66.0]
    assert (tmp_path / "makers").read_text() == "made\n"


def test_the_log_has_a_line_for_everything_made_and_none_for_what_was_there(tmp_path: Path) -> None:
    assert ArtifactStore(tmp_path).log() == []
    for _ in range(2):
        ArtifactStore(tmp_path).keep("features", KEY, lambda: ARTIFACT)
    (record,) = ArtifactStore(tmp_path).log()
    assert (record["stage"], record["key"], record["pid"]) == ("features", KEY, os.getpid())
    assert record["seconds"] >= 0


def test_lines_of_the_log_that_cannot_be_read_are_skipped(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    store.keep("x", "ab", lambda: Artifact({"a": np.zeros(2)}))
    with (tmp_path / "made.log").open("ab") as stream:
        stream.write(b'{"stage": "x", \xff\n')
    store.keep("x", "cd", lambda: Artifact({"a": np.zeros(2)}))
    assert [record["key"] for record in store.log()] == ["ab", "cd"]
