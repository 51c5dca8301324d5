"""The epoch that is kept is the one that does best on the target split, and only if that is asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ftt.data import Fittable
from ftt.data.digits import Digits
from ftt.data.roots import Roots
from ftt.methods.jtt import JTT
from ftt.recipe import Recipe, preset
from ftt.spec import Spec, Training
from ftt.train import FreezeThenTrain, fit

DATA = Digits(core_noise=0.1, spurious_noise=0.3).load(Roots.from_environment())
TRAINING = Training(epochs=5, batch_size=64, lr=0.02)
CHOOSING = TRAINING.replace(select="worst-group")


def worst_group(model: FreezeThenTrain, split: Fittable) -> float:
    """Accuracy of the network's own head in its worst group of label and attribute, by hand."""
    assert model.network is not None
    with torch.inference_mode():
        codes = model.network.head(torch.from_numpy(model.transform(split))).argmax(1).numpy()
    groups = [(split.y == y) & (split.a == a) for y in (0, 1) for a in (0, 1)]
    return min(float(np.mean(codes[rows] == split.y[rows])) for rows in groups)


@pytest.fixture(scope="module", params=["erm", "ftt"])
def chosen(request: pytest.FixtureRequest) -> FreezeThenTrain:
    return fit(DATA, request.param, "identity", training=CHOOSING)


def test_the_kept_weights_have_the_best_score_of_the_log(chosen: FreezeThenTrain) -> None:
    scores = [record["val_worst_group"] for record in chosen.log]
    assert len(scores) == 5
    assert len(set(scores)) > 1, "a choice between equal epochs shows nothing"
    assert worst_group(chosen, DATA["val"]) == pytest.approx(max(scores))


def test_comparing_epochs_does_not_change_the_training(chosen: FreezeThenTrain) -> None:
    last = fit(DATA, chosen.recipe, "identity", training=TRAINING)
    assert [record["loss"] for record in chosen.log] == [record["loss"] for record in last.log]
    assert "val_worst_group" not in last.log[0]


def test_only_the_last_stage_of_jtt_is_compared() -> None:
    log = fit(DATA, Recipe(None, JTT(identify_epochs=2)), "identity", training=CHOOSING.replace(epochs=2)).log
    assert ["val_worst_group" in record for record in log] == [False, False, True, True]


def test_the_choice_is_part_of_the_key_and_its_default_is_not() -> None:
    spec = Spec(data=Digits(), backbone="tinyconv", recipe=preset("erm"), train=TRAINING)
    keys = [replace(spec, train=train).identify(Roots.from_environment()).key for train in (TRAINING, CHOOSING)]
    assert keys[0] != keys[1]
    assert "select" not in TRAINING.identity()
    assert CHOOSING.identity()["select"] == "worst-group"
