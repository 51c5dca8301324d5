"""One run: what the probe is shown, and what bad input leaves behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ftt.data import Places
from ftt.data.digits import Digits
from ftt.data.embeddings import Embeddings
from ftt.errors import FttError
from ftt.experiments.runner import run
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
    home, places = Home(tmp_path), Places.from_environment()
    results = {k: run(replace(SPEC, probe=Probing(dims=k)), home, places) for k in (2, 8, 128)}
    assert [result["probe"]["dims"] for result in results.values()] == [2, 8, 128]
    assert home.artifacts.made["trained"] == 1
    assert home.artifacts.made["basis"] == 2, "one for the freezer, one for the probe"
    assert results[8]["worst_group_accuracy"] > results[2]["worst_group_accuracy"]


def test_all_dimensions_give_what_no_rotation_gives(tmp_path: Path) -> None:
    """A full rotation changes neither the penalty nor the fit."""
    home, places = Home(tmp_path), Places.from_environment()
    whole = run(SPEC, home, places)
    rotated = run(replace(SPEC, probe=Probing(dims=128)), home, places)
    assert rotated["average_accuracy"] == pytest.approx(whole["average_accuracy"], abs=0.006)


def test_more_dimensions_than_there_are_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FttError, match="not that many"):
        run(replace(SPEC, probe=Probing(dims=129)), Home(tmp_path), Places.from_environment())


def test_data_that_cannot_be_used_leaves_no_trace_of_a_run(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    bad = np.full((4, 2), np.nan)
    np.savez(path, features=bad, y=np.arange(4) % 2, attribute=np.arange(4) % 2, split=np.array(["train"] * 4))
    home = Home(tmp_path / "home")
    with pytest.raises(FttError, match="NaN"):
        run(replace(SPEC, data=Embeddings(path=str(path))), home, Places.from_environment())
    assert home.runs.states() == []


def test_a_training_that_diverges_says_so(tmp_path: Path) -> None:
    wild = replace(SPEC, train=Training(epochs=3, lr=1e9))
    with pytest.raises(FttError, match="diverged"):
        run(wild, Home(tmp_path), Places.from_environment())
