"""What the system refuses: files in the way, folders that cannot be written, disks that are full, readers that left."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.bad_inputs.unchanged import content_of
from tests.cli.shell import Shell

RUN = ("run", "digits", "--recipe", "init", "--backbone", "identity")
ROOT = os.geteuid() == 0


def file_as_home(shell: Shell) -> None:
    (shell.folder / "home").write_text("x")


def file_as_runs(shell: Shell) -> None:
    (shell.folder / "home").mkdir()
    (shell.folder / "home" / "runs").write_text("x")


def file_as_artifacts(shell: Shell) -> None:
    (shell.folder / "home").mkdir()
    (shell.folder / "home" / "artifacts").write_text("x")


def link_to_itself(shell: Shell) -> None:
    (shell.folder / "home").symlink_to(shell.folder / "home")


def nothing(shell: Shell) -> None:
    return None


HOMES: dict[str, tuple[Callable[[Shell], None], str, str]] = {
    "home is a file": (file_as_home, "home", "not a directory"),
    "runs is a file": (file_as_runs, "home", "cannot be used"),
    "artifacts is a file": (file_as_artifacts, "home", "cannot be used"),
    "home is a link to itself": (link_to_itself, "home", "symbolic links"),
    "home is a device": (nothing, "/dev/null", "not a directory"),
    "home is below a file": (nothing, "/etc/passwd/x", "not a directory"),
    "home is below /proc": (nothing, "/proc/self/x", "cannot be used"),
    "name too long": (nothing, "x" * 300, "too long"),
    "path too long": (nothing, "x/" * 3000, "too long"),
    "user that is not there": (nothing, "~nobody-of-that-name/x", "home folder"),
}


@pytest.mark.parametrize("case", HOMES)
def test_home_that_cannot_be_used_is_refused_in_words(case: str, shell: Shell) -> None:
    prepare, home, words = HOMES[case]
    prepare(shell)
    assert words in shell.refused(*RUN, "--home", home).lower()


@pytest.mark.parametrize("variable", ["FTT_HOME", "FTT_CACHE", "FTT_DATA"])
def test_folder_of_an_unknown_user_is_refused_in_words(
    variable: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "~nobody-of-that-name/x")
    assert "nobody-of-that-name" in shell.refused(*RUN)


@pytest.mark.parametrize("command", ["status", "results", "doctor"])
@pytest.mark.parametrize("home", ["/dev/null", "/etc/passwd/x", "x" * 300, "\udcff"])
def test_commands_that_read_end_in_words_whatever_the_home_is(command: str, home: str, shell: Shell) -> None:
    answer = shell(command, "--home", home)
    assert answer.code in (0, 2)
    assert "Traceback" not in answer.err


@pytest.mark.skipif(ROOT, reason="root may write everywhere")
def test_home_that_may_not_be_written_is_refused_in_words(shell: Shell) -> None:
    (shell.folder / "home").mkdir(mode=0o500)
    assert "permission denied" in shell.refused(*RUN, "--home", "home")


def test_read_only_disk_is_refused_in_words(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert "read-only file system" in shell.refused(*RUN, "--home", "other")


def test_deleted_working_folder_is_refused_in_words(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.delenv("FTT_HOME")
    assert "cannot be used" in shell.refused(*RUN)
    assert shell("ls").code == 0


def apart(store: Path, *arguments: str, shell: str = "") -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, whose streams the shell may redirect."""
    command = " ".join([sys.executable, "-m", "ftt", *arguments, shell])
    environment = {**os.environ, "FTT_HOME": str(store)}
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=environment, timeout=60, check=False
    )


@pytest.mark.parametrize("command", [("ls",), ("status", "--json"), ("results",), ("results", "--format", "csv")])
@pytest.mark.parametrize("stream", [">/dev/full", ">&-", "| true"], ids=["full", "closed", "no reader"])
@pytest.mark.slow
def test_output_that_cannot_be_written_ends_without_a_traceback(
    command: tuple[str, ...], stream: str, store: Path
) -> None:
    before = content_of(store)
    done = apart(store, *command, shell=stream)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if stream == ">/dev/full":
        assert done.returncode == 2
        assert "no space left" in done.stderr
    assert content_of(store) == before


def test_terminal_that_knows_ascii_only_gets_the_tables(store: Path) -> None:
    environment = {**os.environ, "FTT_HOME": str(store), "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = subprocess.run(
        [sys.executable, "-m", "ftt", "results"], capture_output=True, env=environment, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
