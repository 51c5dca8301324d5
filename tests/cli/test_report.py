"""ftt report, and --report on the commands that run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.fixture(autouse=True)
def without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bundling takes seconds; tests/browser draws."""
    monkeypatch.setattr("ftt.report.page.drawing_library", lambda: "")


def test_runs_are_reported_by_themselves_together_and_by_condition(shell: Shell, tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    made = shell.json("run", "digits", "--recipe", "init", "--core-noise", "0.2", "--report", page)
    assert "init on digits" in page.read_text()
    assert f"ftt run digits --recipe init --core-noise 0.2 --report {page}" in page.read_text()
    answer = shell("compare", "digits", "init", "pca", "--core-noise", "0.2", "--report", tmp_path / "compare.html")
    assert answer.code == 0, answer.err
    assert "2 runs on digits" in (tmp_path / "compare.html").read_text()
    found = shell.json("report", made["run_id"][:8], "--out", tmp_path / "one.html", "--title", "Mine")
    assert found["page"] == str(tmp_path / "one.html")
    assert "<h1>Mine</h1>" in (tmp_path / "one.html").read_text()
    answer = shell("report", "--where", "recipe = 'pca'", "--out", tmp_path / "some.html")
    assert answer.code == 0, answer.err
    assert "pca on digits" in (tmp_path / "some.html").read_text()


def test_without_runs_the_report_says_so(shell: Shell, tmp_path: Path) -> None:
    assert "no finished runs" in shell.refused("report", "--out", tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


def test_a_sweep_and_an_experiment_write_pages(shell: Shell, tmp_path: Path) -> None:
    sweep = tmp_path / "s.toml"
    sweep.write_text('name = "Mine"\n[base]\ndataset = "digits"\n[grid]\nrecipe = ["init", "pca"]\n')
    answer = shell("sweep", sweep, "--workers", "1", "--report", tmp_path / "sweep.html")
    assert answer.code == 0, answer.err
    assert "<h1>Mine</h1>" in (tmp_path / "sweep.html").read_text()
    answer = shell("report", sweep, "--out", tmp_path / "again.html")
    assert answer.code == 0, answer.err
    answer = shell("reproduce", "fig3", "--report", tmp_path / "fig3.html")
    assert answer.code == 0, answer.err
    assert "times the optimum" in (tmp_path / "fig3.html").read_text()


def test_open_shows_the_page_in_the_browser(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    shell("run", "digits", "--recipe", "init")
    assert shell("report", "--open", "--out", tmp_path / "a.html").code == 0
    assert shown == [(tmp_path / "a.html").as_uri()]
