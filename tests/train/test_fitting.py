"""A training is kept under everything its weights depend on, and under nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.contracts.small import small_data

import ftt
from ftt.data import GroupedData
from ftt.errors import FttError
from ftt.recipe import Recipe, preset
from ftt.settings import setting
from ftt.spec import Training
from ftt.store import ArtifactStore
from ftt.train import FreezeThenTrain, Services, fit

SHORT = Training(epochs=1, batch_size=32)


def trained(data: GroupedData, cache: ArtifactStore, recipe: Recipe | str = "erm", seed: int = 0) -> FreezeThenTrain:
    return fit(data, recipe, "identity", training=SHORT, seed=seed, services=Services(cache=cache))


def with_third_class(data: GroupedData) -> GroupedData:
    """The same rows, with a name for a class that none of them has."""
    return replace(data, info=replace(data.info, classes=(*data.info.classes, "perhaps")))


def test_the_number_of_classes_is_part_of_the_key_of_a_training(tmp_path: Path) -> None:
    """Otherwise the head of two classes would be read back where three are wanted."""
    store, data = ArtifactStore(tmp_path), small_data("features")
    heads = [trained(one, store).network for one in (data, with_third_class(data))]
    assert [head.head.out_features for head in heads if head is not None] == [2, 3]
    assert store.made["trained"] == 2


def test_labels_attribute_seed_and_recipe_are_part_of_the_key_of_a_training(tmp_path: Path) -> None:
    store, data = ArtifactStore(tmp_path), small_data("features")
    first = data.y.copy()
    first[np.flatnonzero(data.split == "train")[0]] ^= 1
    trained(data, store)
    trained(replace(data, y=first), store)
    trained(replace(data, a=1 - data.a), store)
    trained(data, store, seed=1)
    trained(data, store, "irm")
    assert store.made["trained"] == 5


def test_rows_outside_the_training_split_leave_the_key_of_a_training_alone(tmp_path: Path) -> None:
    store, data = ArtifactStore(tmp_path), small_data("features")
    held_out = data.split != "train"
    other = replace(data, y=np.where(held_out, 1 - data.y, data.y), a=np.where(held_out, 1 - data.a, data.a))
    assert trained(data, store).log == trained(other, store).log
    assert store.made["trained"] == 1


def test_a_recipe_by_name_is_the_recipe(tmp_path: Path) -> None:
    store, data = ArtifactStore(tmp_path), small_data("features")
    by_name, as_object = trained(data, store, "ftt"), trained(data, store, preset("ftt"))
    assert by_name.recipe == as_object.recipe
    assert store.made["trained"] == 1


def test_without_a_backbone_and_a_training_those_of_ftt_run_are_taken() -> None:
    model = fit(ftt.load("digits"), Recipe(None, None))
    assert model.backbone_name == setting("digits").backbone == "tinyconv"
    assert fit(small_data("features"), "init").backbone_name == "identity"


def test_an_unknown_recipe_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(FttError, match="did you mean 'ftt'"):
        fit(small_data("features"), "fft", "identity")


def test_the_log_is_told_after_every_epoch_and_read_back_with_the_weights(tmp_path: Path) -> None:
    told: list[int] = []
    services = Services(cache=ArtifactStore(tmp_path), on_epoch=lambda log: told.append(len(log)))
    runs = [
        fit(small_data("features"), "erm", "identity", training=SHORT.replace(epochs=3), services=services)
        for _ in range(2)
    ]
    assert told == [1, 2, 3]
    assert runs[0].log == runs[1].log
