"""`ftt sweep`, `ftt status SWEEP` and `ftt results` as a user calls them."""

from __future__ import annotations

import csv
import io
import json
import statistics
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
    assert "small: 4 runs, 0 of them are in the store already" in first.err
    assert all(word in first.out for word in ("worst group", "seed", "0.25", "done"))
    assert "epochs" not in first.out
    again = shell.sweep(SWEEP, "--json")
    assert "4 runs, 4 of them are in the store already" in again.err
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


def test_results_are_chosen_grouped_and_written_in_every_format(shell: SweepShell) -> None:
    runs = json.loads(shell.sweep(SWEEP, "--json").out)["runs"]
    every = shell.json("results")
    assert len(every["rows"]) == 4
    assert {"data.core_noise", "train.epochs", "seconds.fit"} <= set(every["columns"])
    grouped = shell.json("results", "--group-by", "p,data.core_noise")["rows"]
    for p in (0.25, 0.5):
        worst = [run["worst_group_accuracy"] for run in runs if run["given"]["p"] == p]
        (row,) = [row for row in grouped if row["p"] == p]
        assert row["n"] == 2
        assert row["worst_group_accuracy"] == pytest.approx(statistics.fmean(worst))
        assert row["worst_group_accuracy_se"] == pytest.approx(statistics.stdev(worst) / 2**0.5)
    text = shell("results", "--where", "data.core_noise = 0 and p > 0.3", "--columns", "p,seed", "--format", "csv").out
    assert sorted(csv.reader(io.StringIO(text))) == [["0.5", "0"], ["0.5", "1"], ["p", "seed"]]
    assert "worst\\_group\\_accuracy" in shell("results", "--format", "latex").out
    out = shell.folder / "r.parquet"
    assert shell("results", "--format", "parquet", "--out", out).code == 0
    from pyarrow import parquet

    assert parquet.read_table(out).num_rows == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--where", "nothing = 1"), ("cannot be asked", "data.core_noise", "nothing")),
        (("--where", "p = 0.25); drop table runs; --"), ("cannot be asked",)),
        (("--where", "run_id in (select content from read_text('sweep.toml'))"), ("disabled by configuration",)),
        (("--group-by", "data.core_nois"), ("did you mean 'data.core_noise'",)),
        (("--group-by", "p", "--columns", "recipe"), ("cannot be asked",)),
        (("--format", "word"), ("there is no format",)),
        (("--format", "parquet"), ("--out",)),
    ],
)
def test_a_question_that_cannot_be_answered_exits_2(
    shell: SweepShell, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    shell.sweep(SWEEP.replace("seed = [0, 1]", "seed = [0]"))
    answer = shell("results", *arguments)
    assert answer.code == 2
    assert "Traceback" not in answer.err
    for word in words:
        assert word in answer.err


def test_results_of_an_empty_home_say_what_to_do(shell: SweepShell) -> None:
    answer = shell("results")
    assert answer.code == 2
    assert "ftt sweep" in answer.err
