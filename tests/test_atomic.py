"""A file or folder appears whole or not at all; what killed processes leave is removed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ftt import atomic
from ftt.atomic import replacing, replacing_folder, sweep


def test_file_appears_when_the_block_ends_and_not_before(tmp_path: Path) -> None:
    target = tmp_path / "new" / "a.txt"
    with replacing(target) as scratch:
        scratch.write_text("half")
        assert not target.exists()
        scratch.write_text("whole")
    assert target.read_text() == "whole"
    assert [path.name for path in target.parent.iterdir()] == ["a.txt"]


def test_interrupted_block_leaves_the_old_file_and_no_fragment(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")

    def write() -> None:
        with replacing(target) as scratch:
            scratch.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_new_files_have_the_rights_that_the_user_gives_to_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "a") as scratch:
            scratch.write_text("x")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_names_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    target = tmp_path / ("n" * 250)
    with replacing(target) as scratch:
        scratch.write_text("x")
    assert target.read_text() == "x"


def test_folder_takes_the_place_of_the_old_one_as_a_whole(tmp_path: Path) -> None:
    for names in ("ab", "bc"):
        with replacing_folder(tmp_path / "m") as scratch:
            for name in names:
                (scratch / name).write_text(names)
    assert {path.name: path.read_text() for path in (tmp_path / "m").iterdir()} == {"b": "bc", "c": "bc"}
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize("exchanged", [True, False])
def test_folder_that_cannot_be_filled_leaves_the_old_one(
    exchanged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchanged:
        # As where two folders cannot change places in one step.
        monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    with replacing_folder(tmp_path / "m") as scratch:
        (scratch / "a").write_text("old")

    def write(fail: bool) -> None:
        with replacing_folder(tmp_path / "m") as scratch:
            (scratch / "a").write_text("new")
            if fail:
                raise OSError("full")

    with pytest.raises(OSError, match="full"):
        write(fail=True)
    assert (tmp_path / "m" / "a").read_text() == "old"
    write(fail=False)
    assert (tmp_path / "m" / "a").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def ended_process() -> int:
    """The number of a process that was there and is not any more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_scratch_of_ended_processes_is_removed_and_nothing_else(tmp_path: Path) -> None:
    here, dead = atomic._machine(), ended_process()

    def made(name: str, age: float = 0.0) -> Path:
        path = tmp_path / "deep" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("half")
        os.utime(path, (time.time() - age,) * 2)
        return path

    gone = [
        made(f".a.json-{here}-{dead}-00000000.unfinished"),
        made(".a.json-00000000-1-00000000.unfinished", age=2 * atomic.ABANDONED),
    ]
    folder = tmp_path / f".m-{here}-{dead}-00000000.unfinished"
    (folder / "inner").mkdir(parents=True)
    kept = [
        made(f".a.json-{here}-{os.getpid()}-00000000.unfinished"),
        made(".a.json-00000000-1-11111111.unfinished"),
        made(".a.json-x.unfinished", age=2 * atomic.ABANDONED),
        made(".hidden"),
        made("a.json"),
    ]
    assert set(sweep(tmp_path)) == {*gone, folder}
    assert not any(path.exists() for path in (*gone, folder))
    assert all(path.exists() for path in kept)
