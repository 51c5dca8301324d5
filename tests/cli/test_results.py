"""`ftt results` as a user calls it: runs are chosen, averaged over seeds only, and written in every format."""

from __future__ import annotations

import csv
import io
import statistics
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import ftt
from tests.cli.shell import Shell

SWEEP: dict[str, Any] = {
    "base": {"dataset": "digits", "backbone": "identity", "train": {"epochs": 1}},
    "grid": {"p": [0.25, 0.5], "seed": [0, 1]},
    "runs": [{"recipe": "erm"}, {"recipe": "ftt", "p": 0.25, "data": {"core_noise": 0.2}}],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs: FTT at two p with two seeds, ERM, and FTT under noise."""
    folder = tmp_path_factory.mktemp("home")
    done = ftt.sweep(SWEEP, home=folder, resources=ftt.Resources(workers=1, threads=1))
    assert done.failed == {}
    return folder


def test_every_run_is_a_row_with_the_fields_of_its_spec(shell: Shell, home: Path) -> None:
    every = shell.json("results", "--home", home)
    assert len(every["rows"]) == 6
    assert {"data.core_noise", "train.epochs", "seconds.fit"} <= set(every["columns"])


def test_a_recipe_is_found_under_the_name_it_was_started_with(shell: Shell, home: Path) -> None:
    for recipe, count in (("ftt", 5), ("erm", 1), ("pca", 0)):
        assert len(shell.json("results", "--home", home, "--where", f"recipe = '{recipe}'")["rows"]) == count
    own = shell.folder / "own"
    started = [shell.json("run", "digits", "--home", own, "--recipe", name) for name in ("init", "pca")]
    for name, result in zip(("init", "pca"), started, strict=True):
        (row,) = shell.json("results", "--home", own, "--where", f"recipe = '{name}'")["rows"]
        assert row["run_id"] == result["run_id"]


def test_groups_that_differ_in_more_than_their_seed_are_refused_with_the_fields(shell: Shell, home: Path) -> None:
    text = shell.refused("results", "--home", home, "--group-by", "recipe")
    assert "average over runs that differ in more than their seed" in text
    assert "also differing: p, data.core_noise" in text
    assert "add to --group-by: p,data.core_noise" in text
    text = shell.refused(
        "results", "--home", home, "--group-by", "dataset", "--where", "data.core_noise = 0 and p < 0.3"
    )
    assert "also differing: recipe, p" in text


def test_groups_by_every_field_in_which_runs_differ_are_means_over_seeds(shell: Shell, home: Path) -> None:
    runs = shell.json("results", "--home", home)["rows"]
    grouped = shell.json("results", "--home", home, "--group-by", "recipe,p,data.core_noise")["rows"]
    assert [row["n"] for row in grouped] == [1, 2, 1, 2]
    for row in grouped:
        own = [run for run in runs if all(run[name] == row[name] for name in ("recipe", "p", "data.core_noise"))]
        worst = [run["worst_group_accuracy"] for run in own]
        assert row["n"] == len(worst)
        assert row["worst_group_accuracy"] == pytest.approx(statistics.fmean(worst))
        error = statistics.stdev(worst) / 2**0.5 if len(worst) == 2 else None
        assert row["worst_group_accuracy_se"] == (error if error is None else pytest.approx(error))


def test_a_condition_makes_a_group_of_one_kind(shell: Shell, home: Path) -> None:
    chosen = "recipe = 'ftt' and p = 0.25 and data.core_noise = 0"
    (row,) = shell.json("results", "--home", home, "--group-by", "recipe", "--where", chosen)["rows"]
    assert (row["recipe"], row["n"]) == ("ftt", 2)


def test_columns_are_chosen_and_every_format_is_written(shell: Shell, home: Path) -> None:
    where = ("--where", "data.core_noise = 0 and p > 0.3")
    text = shell("results", "--home", home, *where, "--columns", "p,seed", "--format", "csv").out
    assert sorted(csv.reader(io.StringIO(text))) == [["0.5", "0"], ["0.5", "1"], ["p", "seed"]]
    assert "worst\\_group\\_accuracy" in shell("results", "--home", home, "--format", "latex").out
    assert "6 rows of 6 runs" in shell("results", "--home", home).out
    out = shell.folder / "r.parquet"
    assert shell("results", "--home", home, "--format", "parquet", "--out", out).code == 0
    assert parquet.read_table(out).num_rows == 6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--where", "nothing = 1"), ("invalid query", "data.core_noise", "nothing")),
        (("--where", "p = 0.25); drop table runs; --"), ("invalid query",)),
        (("--where", "run_id in (select content from read_text('sweep.toml'))"), ("disabled by configuration",)),
        (("--group-by", "data.core_nois"), ("did you mean 'data.core_noise'",)),
        (("--group-by", "recipe,p,data.core_noise", "--columns", "recipe"), ("invalid query",)),
        (("--format", "word"), ("there is no format",)),
        (("--format", "parquet"), ("--out",)),
    ],
)
def test_a_query_that_cannot_be_answered_exits_2(
    shell: Shell, home: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    text = shell.refused("results", "--home", home, *arguments)
    for word in words:
        assert word in text


def test_results_of_an_empty_home_say_what_to_do(shell: Shell) -> None:
    assert "ftt sweep" in shell.refused("results")
