"""ftt diagnose and ftt audit: what they print, write and refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.cli.shell import Shell


def test_diagnose_prints_noises_and_verdict_and_draws_its_chart(shell: Shell, tmp_path: Path) -> None:
    answer = shell("diagnose", "digits", "--core-noise", "0.2", "--chart", tmp_path / "chart.svg")
    assert answer.code == 0, answer.err
    assert "core noise" in answer.out
    assert "training is expected to harm" in answer.out
    assert (tmp_path / "chart.svg").read_text().startswith("<svg")
    again = shell.json("diagnose", "digits", "--core-noise", "0.2")
    assert again["verdict"]["answer"] == "harms"
    assert again["core_noise"]["low"] <= 0.2 <= again["core_noise"]["high"]


def test_diagnose_refuses_what_is_no_parameter(shell: Shell) -> None:
    assert "core-nose" in shell.refused("diagnose", "digits", "--core-nose", "0.2")


def test_audit_prints_the_worst_groups_and_writes_its_tables(shell: Shell, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y, a = rng.integers(0, 2, (2, 400))
    np.savez(tmp_path / "rows.npz", y=y, attribute=a, predicted=a, features=np.c_[y + rng.normal(size=400), a])
    written = tmp_path / "issues.csv", tmp_path / "page.html"
    answer = shell("audit", tmp_path / "rows.npz", "--issues", written[0], "--report", written[1])
    assert answer.code == 0, answer.err
    assert "predictions follow attribute" in answer.out
    assert len(written[0].read_text().splitlines()) == 401
    assert "Audit: rows" in written[1].read_text()
    assert shell.json("audit", tmp_path / "rows.npz")["overall"]["n"] == 400


def test_audit_refuses_a_file_that_is_not_there(shell: Shell, tmp_path: Path) -> None:
    assert "no such file" in shell.refused("audit", tmp_path / "absent.csv")
