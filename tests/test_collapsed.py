"""A classifier that gives every row the same class is flagged wherever its numbers are shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ftt
from ftt.paper.experiment import Experiment, Findings, Request
from ftt.paper.result_table import WORST, Cell, Measured, ResultTable
from ftt.report.tables import dims_table, seeds_table
from ftt.result import ONE_CLASS, Result
from ftt.runs.comparison import Comparison
from ftt.store import Home
from ftt.store.query import collect, query
from tests.cli.shell import Shell
from tests.planted import SPEC, with_accuracies

N = 240
HOME = Home(Path("home"))


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
    assert "one class only" in Measured(Cell("a", "b", (SPEC,)), (fine, collapsed())).text(WORST)


def test_every_experiment_names_the_cells_whatever_its_tables_show() -> None:
    cells = {"64": with_accuracies(0.5, 0.7), "2": collapsed()}
    table = ResultTable(Measured(Cell(row, "core 20%", (SPEC,)), (result,)) for row, result in cells.items())
    (said,) = Experiment("grid", "Grid", "?", findings=lambda *_: Findings([])).shows(table, Request(), HOME).sentences
    assert "2 at core 20%" in said
    assert "64" not in said
    fine = ResultTable(table.cells[:1])
    assert not Experiment("grid", "Grid", "?", findings=lambda *_: Findings([])).shows(fine, Request(), HOME).sentences


def test_tables_of_dimensions_and_of_recipes_say_so() -> None:
    pair = [with_accuracies(0.5, 0.7), collapsed()]
    assert ["one class only" in row[0] for row in dims_table(pair).rows] == [False, True]
    compared = Comparison({"erm": pair[:1], "ftt": pair[1:]})
    assert ["one class only" in row[0] for row in compared.table().rows] == [False, True]
    assert compared.to_frame()["one_class"].tolist() == [False, True]


def test_sweep_says_so_on_screen_in_json_and_in_a_frame(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(
        f'name = "one"\n[base]\ndataset = "embeddings"\npath = "{home / "own.npz"}"\n[grid]\nrecipe = ["init"]'
    )
    shell = Shell(monkeypatch, capsys, tmp_path)
    call = ("sweep", file, "--home", home / "home", "--workers", "1")
    assert "done (one class only)" in shell(*call).out
    assert shell.json(*call)["runs"][0]["one_class"] is True
    assert ftt.sweep(file, home=home / "home").to_frame()["one_class"].tolist() == [True]
