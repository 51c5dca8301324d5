"""A classifier that gives every row the same class is flagged wherever its numbers are shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ftt
from ftt.paper.result_table import WORST, Cell, Measured
from ftt.report.tables import seeds_table
from ftt.result import ONE_CLASS, Result
from ftt.store.query import collect, query
from tests.cli.shell import Shell
from tests.planted import SPEC, with_accuracies

N = 240


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose test rows are all alike."""
    folder = tmp_path_factory.mktemp("home")
    rng = np.random.default_rng(0)
    np.savez(
        folder / "own.npz",
        features=np.where(np.arange(N)[:, None] < 2 * N // 3, rng.standard_normal((N, 3)), 0).astype(np.float32),
        y=rng.permutation(np.resize([0, 1, 1], N)),
        attribute=np.resize([0, 0, 1, 1], N),
        split=np.repeat(["train", "val", "test"], N // 3),
    )
    ftt.run("embeddings", "init", path=folder / "own.npz", home=folder / "home")
    return folder


def test_run_results_and_json_say_so(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shell = Shell(monkeypatch, capsys, tmp_path)
    call = ("run", "embeddings", "--recipe", "init", "--path", home / "own.npz", "--home", home / "home")
    assert f"note: {ONE_CLASS}" in shell(*call).out
    assert any(warning.startswith(ONE_CLASS) for warning in shell.json(*call)["probe"]["warnings"])
    assert "one_class" in shell("results", "--home", home / "home").out
    assert f"note: {ONE_CLASS}" in str(ftt.run("embeddings", "init", path=home / "own.npz", home=home / "home"))
    runs = collect(ftt.Home(home / "home").runs)
    assert query(runs, where="one_class").num_rows == 1


def collapsed() -> Result:
    return replace(with_accuracies(0.0, 0.5), warnings=(ONE_CLASS,))


def test_tables_of_seeds_and_of_the_paper_say_so() -> None:
    fine = with_accuracies(0.5, 0.7)
    rows = seeds_table([fine, collapsed()]).rows
    assert ["one class only" in row[-1] for row in rows[:2]] == [False, True]
    assert "one class" not in Measured(Cell("a", "b", (SPEC,)), (fine,)).text(WORST)
    assert "predicts one class only" in Measured(Cell("a", "b", (SPEC,)), (fine, collapsed())).text(WORST)
