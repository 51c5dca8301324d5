"""`ftt sweep` and `ftt status SWEEP` as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Answer, Shell

SWEEP = """
name = "small"
[base]
dataset = "digits"
backbone = "identity"
train.epochs = 1
[grid]
p = [0.25, 0.5]
seed = [0, 1]
"""
FAILING = "\n[[runs]]\ntrain.lr = 1e9\ntrain.epochs = 3\n"


class SweepShell(Shell):
    """A shell that writes the sweep down before it runs it."""

    def sweep(self, text: str, *arguments: object) -> Answer:
        path = self.folder / "sweep.toml"
        path.write_text(text)
        return self("sweep", path, "--workers", 1, "--threads", 1, *arguments)

    def json(self, *arguments: object) -> Any:
        return json.loads(self(*arguments, "--json").out, parse_constant=pytest.fail)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> SweepShell:
    return SweepShell(monkeypatch, capsys, tmp_path)


def test_a_sweep_says_what_is_done_runs_the_rest_and_prints_what_varies(shell: SweepShell) -> None:
    first = shell.sweep(SWEEP)
    assert first.code == 0
    assert "small: 4 runs, 0 of them already in the store" in first.err
    assert all(word in first.out for word in ("worst group", "seed", "0.25", "done"))
    assert "epochs" not in first.out
    again = shell.sweep(SWEEP, "--json")
    assert "4 runs, 4 of them already in the store" in again.err
    told = json.loads(again.out)
    assert (told["total"], told["failed"]) == (4, 0)
    assert [row["given"]["p"] for row in told["runs"]] == [0.25, 0.25, 0.5, 0.5]
    assert all(row["from_store"] and row["state"] == "done" for row in told["runs"])


def test_a_failed_run_ends_in_exit_code_1_and_says_where_its_traceback_is(shell: SweepShell) -> None:
    answer = shell.sweep(SWEEP + FAILING)
    assert answer.code == 1
    assert "diverged" in answer.out
    assert "failed.json" in answer.out
    assert answer.out.count("done") == 4
    states = shell.json("status", shell.folder / "sweep.toml")
    assert states["counts"] == {"done": 4, "failed": 1}


def test_status_of_a_sweep_counts_what_was_never_begun(shell: SweepShell) -> None:
    shell.sweep(SWEEP)
    (shell.folder / "more.toml").write_text(SWEEP.replace("[0, 1]", "[0, 1, 2]"))
    assert shell.json("status", shell.folder / "more.toml")["counts"] == {"done": 4, "pending": 2}
    assert shell.json("status")["counts"] == {"done": 4}


def test_a_slip_in_the_file_or_the_call_exits_2_before_anything_runs(shell: SweepShell) -> None:
    slip = shell.sweep(SWEEP.replace("train.epochs", "train.epoch"))
    assert slip.code == 2
    assert "did you mean 'train.epochs'" in slip.err
    assert "Traceback" not in slip.err
    nowhere = shell.sweep(SWEEP, "--on", "mars")
    assert nowhere.code == 2
    assert "local, ray" in nowhere.err
    assert not (shell.folder / "FTT_HOME" / "runs").exists()
