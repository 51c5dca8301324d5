"""`ftt theory`: tables, one JSON object, pictures where asked, and errors without a traceback of ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ftt.cli.theory import app
from ftt.errors import FttError

SMALL = ["--d1", "8", "--d2", "4", "--k", "2", "--m", "4", "--p", "0.5"]
COMMANDS = [
    ["flow", *SMALL, "--t", "100", "--points", "8"],
    ["bounds", "--settings", "2", "--seeds", "1"],
    ["toy"],
    ["phase", "--size", "3", *SMALL, "--t", "100", "--jobs", "1"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_json_is_one_object_and_names_files_that_exist(command: list[str], tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [*command, "--json", "--out", str(tmp_path / "pictures")])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["command"] == f"theory {command[0]}"
    endings = [Path(name).suffix for name in found["files"]]
    assert set(endings) == {".png", ".svg", ".html"}
    assert all(Path(name).stat().st_size > 1000 for name in found["files"])


def test_table_and_paths_are_printed_and_ftt_home_is_honoured(tmp_path: Path) -> None:
    result = CliRunner(env={"FTT_HOME": str(tmp_path)}).invoke(app, ["toy"])
    assert result.exit_code == 0
    assert "v_test" in result.stdout
    assert str(tmp_path / "theory" / "toy.png") in result.stdout


def test_same_seed_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ftt.report.charts.save", lambda *_: [])  # numbers only: pictures take most of the time
    runs = [
        json.loads(CliRunner().invoke(app, [*COMMANDS[0], "--seed", seed, "--json", "--out", str(tmp_path)]).stdout)
        for seed in ("1", "1", "2")
    ]
    assert runs[0]["ftt"]["ratio"] == runs[1]["ftt"]["ratio"]
    assert runs[0]["ftt"]["ratio"] != runs[2]["ftt"]["ratio"]


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (["flow", "--m", "10", "--p", "0.25"], "number of features"),
        (["flow", "--eta-core", "0"], "eta_core"),
        (["flow", "--k", "60"], "k is outside"),
        (["flow", "--t", "-1"], "t is not"),
        (["toy", "--low", "2"], "toy example"),
        (["phase", "--low", "2"], "range"),
    ],
)
def test_wrong_input_is_an_ftt_error(command: list[str], word: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path)])
    assert isinstance(result.exception, FttError)
    assert word in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_importing_the_command_imports_no_numbers_and_no_charts() -> None:
    code = (
        "import sys, ftt.cli.theory; print([m for m in ('numpy', 'altair', 'scipy', 'rich.table') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "numpy" not in done.stdout
    assert "altair" not in done.stdout
    assert "scipy" not in done.stdout
