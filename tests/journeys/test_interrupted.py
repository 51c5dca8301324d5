"""Ctrl-C or SIGTERM, then the same command again: both times the user is told where the run stands."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.journeys.terminal import Terminal

COMMAND = "run digits --recipe erm --epochs 150 --core-noise 0.2 --threads 1"


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_a_signal_says_where_it_stopped_and_the_same_command_from_where_it_resumes(
    sent: signal.Signals, tmp_path: Path
) -> None:
    terminal = Terminal(tmp_path)
    first = subprocess.Popen(
        [sys.executable, "-m", "ftt", *COMMAND.split()],
        cwd=tmp_path,
        env=terminal.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 300
    # The log is written when an epoch ends: training is under way.
    while not list((tmp_path / "ftt_home" / "runs").glob("*/train.jsonl")):
        assert first.poll() is None, first.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    first.send_signal(sent)
    _, told = first.communicate(timeout=120)
    assert first.returncode == 128 + sent
    stopped = re.search(r"stopped at training, step (\d+) of 750; the same command resumes where it stopped", told)
    assert stopped, told
    (row,) = json.loads(terminal.run("ftt status --json"))["runs"]
    assert row["state"] == "stopped"
    shown = terminal.run(f"ftt show {row['run_id']}")
    assert "the same command resumes this run" in shown
    assert "1 resumed from a checkpoint" in terminal.run(f"ftt {COMMAND} --dry-run")

    second = subprocess.run(
        [sys.executable, "-m", "ftt", *COMMAND.split(), "--json"],
        cwd=tmp_path,
        env=terminal.environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert f"resuming from a checkpoint: stage 1 of 1, step {stopped[1]}" in second.stderr
    result = json.loads(second.stdout)
    assert result["run_id"] == row["run_id"]
    assert [record["epoch"] for record in result["train_log"]] == list(range(150))
    assert "from the store" in terminal.run(f"ftt {COMMAND}")
