"""Removal: what another run needs, what is in use and what is not sure stays."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from ftt.caching import Artifact
from ftt.data import Roots
from ftt.data.digits import Digits
from ftt.errors import FttError
from ftt.recipe import Recipe
from ftt.spec import Run, Spec
from ftt.store import Home
from ftt.store.removal import disk_use, find_run, remove_runs, remove_unused
from ftt.store.used import NAME, Recording, used_by

KEYS = {name: name * 64 for name in "abcd"}


def made() -> Artifact:
    return Artifact({"x": np.zeros(1000)})


def runs_of(home: Home, **uses: str) -> dict[str, Run]:
    """Runs that were started and used these artifacts: ``runs_of(home, one="ab", two="b")``."""
    runs = {}
    for number, (name, letters) in enumerate(uses.items()):
        spec = Spec(data=Digits(seed=number), backbone="identity", recipe=Recipe())
        runs[name] = spec.identify(Roots.from_environment())
        with home.runs.begin(runs[name]):
            recording = Recording(home.artifacts, home.runs.folder(runs[name]))
            for letter in letters:
                recording.keep("trained", KEYS[letter], made)
    return runs


def left(home: Home) -> set[str]:
    return {path.name[0] for path in home.artifacts.root.glob("*/*/*.safetensors")}


def test_a_run_writes_down_what_it_uses_once_also_when_it_is_started_again(tmp_path: Path) -> None:
    home = Home(tmp_path)
    folder = home.runs.folder(runs_of(home, one="aba")["one"])
    runs_of(home, one="ab")
    assert used_by(folder) == [("trained", KEYS["a"]), ("trained", KEYS["b"])]


def test_artifacts_of_removed_runs_go_unless_another_run_needs_them(tmp_path: Path) -> None:
    home = Home(tmp_path)
    runs = runs_of(home, one="ab", two="bc")
    assert remove_unused(home).files == []
    assert remove_runs([home.runs.folder(runs["one"])]).runs == [runs["one"].id]
    assert not home.runs.folder(runs["one"]).exists()
    assert left(home) == {"a", "b", "c"}
    removed = remove_unused(home)
    assert [path.name[0] for _, path, _ in removed.files] == ["a"]
    assert removed.bytes > 8000
    assert left(home) == {"b", "c"}


def test_a_dry_run_tells_the_same_and_removes_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    runs = runs_of(home, one="ab", two="b")
    planned = remove_runs([home.runs.folder(runs["one"])], dry_run=True)
    planned.add(remove_unused(home, without=planned.runs, dry_run=True))
    assert left(home) == {"a", "b"}
    done = remove_runs([home.runs.folder(runs["one"])])
    done.add(remove_unused(home))
    assert [path for _, path, _ in done.files] == [path for _, path, _ in planned.files]


def test_checkpoints_stay_as_long_as_a_run_may_resume_from_them(tmp_path: Path) -> None:
    home = Home(tmp_path)
    runs = runs_of(home, one="a")
    for letter in "ad":
        home.checkpoint_folder(KEYS[letter]).mkdir(parents=True)
        (home.checkpoint_folder(KEYS[letter]) / "last.safetensors").write_bytes(b"1234")
    assert [(stage, size) for stage, _, size in remove_unused(home).files] == [("checkpoints", 4)]
    assert home.checkpoint_folder(KEYS["a"]).is_dir()
    remove_runs([home.runs.folder(runs["one"])])
    remove_unused(home)
    assert not home.checkpoint_folder(KEYS["a"]).exists()


def test_a_run_in_progress_stays(tmp_path: Path) -> None:
    home = Home(tmp_path)
    run = runs_of(home, one="a")["one"]
    with FileLock(home.runs.folder(run) / "running.lock"):
        removed = remove_runs([home.runs.folder(run)])
    assert (removed.runs, removed.busy) == ([], [home.runs.folder(run)])
    assert home.runs.folder(run).is_dir()


def test_an_artifact_that_is_being_made_stays_and_so_does_its_checkpoint(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.artifacts.keep("trained", KEYS["a"], made)
    home.checkpoint_folder(KEYS["a"]).mkdir(parents=True)
    path = home.artifacts.path("trained", KEYS["a"])
    with FileLock(path.with_suffix(".lock")):
        removed = remove_unused(home)
    assert removed.busy == [path, home.checkpoint_folder(KEYS["a"])]
    assert path.is_file()


def test_a_run_that_starts_meanwhile_keeps_what_it_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    home.artifacts.keep("trained", KEYS["a"], made)
    asked: list[Path] = []
    real = FileLock

    def late(path: Path, timeout: float) -> FileLock:
        if not asked:
            asked.append(path)
            runs_of(home, one="a")
        return real(path, timeout=timeout)

    monkeypatch.setattr("ftt.store.removal.FileLock", late)
    assert remove_unused(home).files == []
    assert left(home) == {"a"}


def test_what_a_run_without_a_record_may_need_stays(tmp_path: Path) -> None:
    home = Home(tmp_path)
    run = runs_of(home, one="a")["one"]
    folder = home.runs.folder(run)
    (folder / NAME).unlink()
    assert (remove_unused(home).files, remove_unused(home).unsure) == ([], 1)
    # A finished one needs nothing that was made after it ended.
    (folder / "result.json").touch()
    os.utime(folder / "result.json", (0, 0))
    assert len(remove_unused(home).files) == 1


def test_disk_use_is_told_by_stage(tmp_path: Path) -> None:
    home = Home(tmp_path)
    runs_of(home, one="ab")
    use = disk_use(home)
    assert use["artifacts, trained"] > 16_000
    assert use["runs"] > 0
    assert math.isclose(sum(use.values()), sum(p.stat().st_size for p in tmp_path.rglob("*") if p.is_file()))


@pytest.mark.parametrize("prefix", ["", "zz"])
def test_a_run_that_is_not_there_is_refused(prefix: str, tmp_path: Path) -> None:
    home = Home(tmp_path)
    runs_of(home, one="a")
    with pytest.raises(FttError, match="there is no run"):
        find_run(home, prefix)
