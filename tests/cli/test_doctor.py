"""`ftt doctor --store` finds damage in every kind of file, and with --repair removes it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ftt import atomic
from tests.cli.shell import Shell

RUN = ("run", "digits", "--recipe", "init", "--backbone", "identity", "--budget", "smoke")


@pytest.fixture
def home(shell: Shell) -> Path:
    assert shell(*RUN).code == 0
    return shell.folder / "FTT_HOME"


@pytest.mark.slow
def test_another_project_with_the_same_import_name_is_noticed(shell: Shell, tmp_path: Path) -> None:
    assert "conflict" not in shell.json("doctor")
    folder = tmp_path / "site" / "ftt-1.2.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: ftt\nVersion: 1.2\n")
    (folder / "RECORD").write_text("ftt/__init__.py,,\nftt-1.2.dist-info/METADATA,,\n")
    source = Path(__file__).parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-m", "ftt", "doctor"],
        env=os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{tmp_path / 'site'}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "ftt 1.2 has the same import name" in done.stdout
    assert "pip uninstall ftt" in done.stdout


def test_whole_store_has_no_damage(shell: Shell, home: Path) -> None:
    found = shell.json("doctor", "--store")
    assert found["damage"] == []
    assert found["files"]["result"] == found["files"]["spec"] == 1


def test_damage_is_counted_by_kind_removed_and_made_again(shell: Shell, home: Path) -> None:
    for pattern in ("runs/*/result.json", "runs/*/spec.json", "artifacts/features/*/*.safetensors"):
        path = next(home.glob(pattern))
        path.write_bytes(path.read_bytes()[:-1] + b"!")
    answer = shell("doctor", "--store")
    assert answer.code == 1
    assert "3 damaged" in answer.out
    assert shell("results").code == 2, "the only result is damaged"
    assert shell("status").code == 0
    repaired = shell.json("doctor", "--store", "--repair")
    assert repaired["damaged"] == {"artifact": 1, "result": 1, "spec": 1}
    assert shell(*RUN).code == 0
    assert shell.json("doctor", "--store")["damage"] == []


def test_unfinished_files_of_ended_processes_are_removed(shell: Shell, home: Path) -> None:
    # No system has a process of this number.
    orphan = home / "runs" / f".result.json-{atomic._machine()}-{2**40}-00000000.unfinished"
    orphan.write_text("half")
    own = home / "runs" / f".result.json-{atomic._machine()}-{os.getpid()}-00000000.unfinished"
    own.write_text("half")
    assert shell.json("doctor", "--store")["unfinished"] == [str(orphan)]
    assert own.exists()
