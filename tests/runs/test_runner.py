"""One run: what the probe is shown, and what bad input leaves behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ftt.data import Roots
from ftt.data.digits import Digits
from ftt.data.embeddings import Embeddings
from ftt.errors import FttError
from ftt.experiments.runner import mean_of, run
from ftt.spec import Probing, Spec, Training
from ftt.store import Home
from ftt.train import preset

RECIPE = preset("ftt")
SPEC = Spec(
    data=Digits(core_noise=0.1),
    backbone="identity",
    freeze=RECIPE.freeze,
    method=RECIPE.method,
    train=Training(epochs=1),
)


def test_many_numbers_of_dimensions_share_one_rotation_and_one_training(tmp_path: Path) -> None:
    home, roots = Home(tmp_path), Roots.from_environment()
    results = {k: run(replace(SPEC, probe=Probing(dims=k)), home, roots) for k in (2, 8, 128)}
    assert [result["probe"]["dims"] for result in results.values()] == [2, 8, 128]
    assert home.artifacts.made["trained"] == 1
    assert home.artifacts.made["basis"] == 2, "one for the freezer, one for the probe"
    assert results[8]["worst_group_accuracy"] > results[2]["worst_group_accuracy"]


def test_all_dimensions_give_what_no_rotation_gives(tmp_path: Path) -> None:
    """A full rotation changes neither the penalty nor the fit."""
    home, roots = Home(tmp_path), Roots.from_environment()
    whole = run(SPEC, home, roots)
    rotated = run(replace(SPEC, probe=Probing(dims=128)), home, roots)
    assert rotated["average_accuracy"] == pytest.approx(whole["average_accuracy"], abs=0.006)


def test_more_dimensions_than_there_are_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FttError, match="not that many"):
        run(replace(SPEC, probe=Probing(dims=129)), Home(tmp_path), Roots.from_environment())


def test_data_that_cannot_be_used_leaves_no_trace_of_a_run(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    bad = np.full((4, 2), np.nan)
    np.savez(path, features=bad, y=np.arange(4) % 2, attribute=np.arange(4) % 2, split=np.array(["train"] * 4))
    home = Home(tmp_path / "home")
    with pytest.raises(FttError, match="NaN"):
        run(replace(SPEC, data=Embeddings(path=str(path))), home, Roots.from_environment())
    assert home.runs.states() == []


def test_a_training_that_diverges_says_so(tmp_path: Path) -> None:
    wild = replace(SPEC, train=Training(epochs=3, lr=1e9))
    with pytest.raises(FttError, match="diverged"):
        run(wild, Home(tmp_path), Roots.from_environment())


def test_several_probe_seeds_share_the_training_and_are_averaged(tmp_path: Path) -> None:
    home, roots = Home(tmp_path), Roots.from_environment()
    alone = [run(replace(SPEC, probe=Probing(seed=seed)), home, roots) for seed in (3, 4, 5)]
    together = run(replace(SPEC, probe=Probing(seed=3, seeds=3)), home, roots)
    assert home.artifacts.made["trained"] == 1
    by_seed = together["probe"]["seeds"]
    assert [one["seed"] for one in by_seed] == [3, 4, 5]
    assert [one["C"] for one in by_seed] == [result["probe"]["C"] for result in alone]
    for figure in ("worst_group_accuracy", "average_accuracy"):
        assert [one[figure] for one in by_seed] == pytest.approx([result[figure] for result in alone], abs=0.005)
        assert together[figure] == pytest.approx(np.mean([one[figure] for one in by_seed]))
    counts = [[group["n"] for group in result["by_group"].values()] for result in (together, alone[0])]
    assert counts[0] == counts[1]
    low, high = together["worst_group_interval"]
    assert low < together["worst_group_accuracy"] < high


def test_one_probe_seed_is_listed_and_is_the_result(tmp_path: Path) -> None:
    result = run(replace(SPEC, probe=Probing(seed=7)), Home(tmp_path), Roots.from_environment())
    (only,) = result["probe"]["seeds"]
    assert only == {
        "seed": 7,
        "C": result["probe"]["C"],
        "worst_group_accuracy": result["worst_group_accuracy"],
        "average_accuracy": result["average_accuracy"],
        "at_edge": result["probe"]["at_edge"],
        "converged": result["probe"]["converged"],
    }


def test_one_probe_seed_leaves_the_key_of_a_run_as_it_was() -> None:
    assert replace(SPEC, probe=Probing(seeds=1)).key == SPEC.key
    assert replace(SPEC, probe=Probing(seeds=2)).key != SPEC.key
    assert "seeds" not in Probing().identity()


def test_reports_that_differ_keep_their_shape_in_the_mean() -> None:
    first = {"worst": "sea", "interval": [0.25, 0.5], "empty": {"accuracy": None, "n": 0}}
    second = {"worst": "ice", "interval": [0.5, 1.0], "empty": {"accuracy": None, "n": 0}}
    assert mean_of([first, second, second]) == {
        "worst": "ice",
        "interval": pytest.approx([1.25 / 3, 2.5 / 3]),
        "empty": {"accuracy": None, "n": 0},
    }
