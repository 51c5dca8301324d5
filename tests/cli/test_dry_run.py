"""--dry-run on every command that trains: it says what and how long, and does nothing."""

from __future__ import annotations

import pytest

from tests.cli.shell import Shell

SWEEP = '[base]\ndataset = "digits"\nrecipe = "erm"\ntrain.epochs = 1\n[grid]\nprobe.averages = [2, 3]\n'


@pytest.mark.parametrize(
    ("call", "runs", "trainings"),
    [
        ("run digits --epochs 1 --seeds 2", 2, 2),
        ("compare digits erm ftt-late --epochs 1", 2, 1),
        ("sweep sweep.toml", 2, 1),
    ],
)
def test_a_dry_run_counts_runs_and_trainings_and_runs_none(
    call: str, runs: int, trainings: int, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shell.folder)
    (shell.folder / "sweep.toml").write_text(SWEEP)
    planned = shell.json(*call.split(), "--dry-run")
    assert (planned["runs"], planned["finished"], planned["trainings"]) == (runs, 0, trainings)
    assert planned["seconds"] > 0
    text = shell(*call.split(), "--dry-run").out
    assert "on this machine" in text
    assert "to do" in text
    assert shell.json("status")["runs"] == []


def test_a_dry_run_of_a_table_of_the_paper_counts_its_runs(shell: Shell) -> None:
    planned = shell.json("reproduce", "fig4", "--dataset", "dominoes", "--budget", "smoke", "--dry-run")
    assert planned["runs"] > planned["trainings"] > 0
    assert shell.json("status")["runs"] == []


def test_the_main_table_lists_runs_and_hours_here_and_on_a_gpu_before_its_data_are_placed(shell: Shell) -> None:
    call = ("reproduce", "table-main", "--budget", "smoke", "--dry-run", "--data", shell.folder / "nothing")
    planned = shell.json(*call)
    assert planned["runs"] >= planned["trainings"] > 0
    assert planned["seconds"] > planned["gpu_seconds"] > 0
    text = shell(*call).out
    assert "on this machine" in text
    assert "on one GPU" in text
