"""A Spec is plain JSON; its key changes with everything that changes the numbers, and with nothing else."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from ftt.data import Roots
from ftt.data.digits import Digits
from ftt.data.embeddings import Embeddings
from ftt.errors import FttError
from ftt.freeze.pca import PCA
from ftt.methods.erm import ERM
from ftt.recipe import Recipe
from ftt.spec import Probing, Spec, Training, identify

RECIPE = Recipe(PCA(p=0.25), ERM())
BASE = Spec(data=Digits(core_noise=0.2), backbone="identity", recipe=RECIPE)
ROOTS = Roots(Path("nowhere"), None)


def key(spec: Spec) -> str:
    return spec.identify(ROOTS).key


def test_spec_reads_back_from_json_to_the_same_key() -> None:
    copy = Spec.from_description(json.loads(json.dumps(BASE.describe())))
    assert copy == BASE
    assert key(copy) == key(BASE)


@pytest.mark.parametrize(
    "other",
    [
        dataclasses.replace(BASE, data=Digits(core_noise=0.1)),
        dataclasses.replace(BASE, data=Digits(core_noise=0.2, seed=1)),
        dataclasses.replace(BASE, backbone="lite0"),
        dataclasses.replace(BASE, recipe=Recipe(PCA(p=0.5), ERM())),
        dataclasses.replace(BASE, recipe=Recipe(None, ERM())),
        dataclasses.replace(BASE, recipe=Recipe(PCA(p=0.25), None)),
        dataclasses.replace(BASE, recipe=Recipe(PCA(p=0.25), ERM(), "late")),
        dataclasses.replace(BASE, train=Training(epochs=7)),
        dataclasses.replace(BASE, train=Training(drop_after=3)),
        dataclasses.replace(BASE, probe=Probing(seed=1)),
        dataclasses.replace(BASE, seed=1),
    ],
)
def test_key_changes_with_every_part(other: Spec) -> None:
    run = other.identify(ROOTS)
    assert run.key != key(BASE)
    assert run.id == run.key[:16]


def test_key_of_an_untrained_recipe_ignores_what_only_training_reads() -> None:
    frozen = dataclasses.replace(BASE, recipe=Recipe(PCA(p=0.25), None))
    assert key(dataclasses.replace(frozen, train=Training(lr=1.0), seed=5)) == key(frozen)
    assert key(dataclasses.replace(frozen, probe=Probing(seed=5))) != key(frozen)


@pytest.mark.parametrize(
    ("given", "simplest"),
    [
        (Recipe(PCA(p=0.0), ERM()), Recipe(None, ERM())),
        (Recipe(PCA(p=1.0), ERM()), Recipe(PCA(p=1.0), None)),
        (Recipe(None, ERM(), "late"), Recipe(None, ERM())),
    ],
    ids=["p = 0", "p = 1", "nothing to join"],
)
def test_recipes_that_do_the_same_have_one_key(given: Recipe, simplest: Recipe) -> None:
    one, other = dataclasses.replace(BASE, recipe=given), dataclasses.replace(BASE, recipe=simplest)
    assert one == other
    assert key(one) == key(other)


def test_equal_parameters_have_one_key_however_the_numbers_are_written() -> None:
    """Issue 11: shares = [3, 1, 1] and [3.0, 1.0, 1.0] were equal and hashed differently."""
    whole, floats = (
        Embeddings.from_options({"path": "x.npz", "shares": shares}) for shares in ([3, 1, 1], [3.0, 1.0, 1.0])
    )
    assert whole == floats
    assert json.dumps(whole.describe()) == json.dumps(floats.describe())
    one: Any = np.int64(1)
    seeds = [dataclasses.replace(BASE, seed=seed).describe() for seed in (1, one)]
    assert json.dumps(seeds[0]) == json.dumps(seeds[1])


@pytest.mark.parametrize("seed", [-1, 1.5, True, None, 2**63, "0"])
def test_a_seed_that_is_not_a_non_negative_integer_is_refused(seed: Any) -> None:
    with pytest.raises(FttError, match="seed must be a non-negative integer"):
        dataclasses.replace(BASE, seed=seed)


def test_description_with_an_unknown_name_is_refused() -> None:
    recipe = {**RECIPE.describe(), "freeze": {"name": "pcaa", "p": 0.25}}
    with pytest.raises(FttError, match="did you mean 'pca'"):
        Spec.from_description({**BASE.describe(), "recipe": recipe})


def test_many_specs_are_identified_as_one_by_one_with_one_look_at_each_data_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    specs = [dataclasses.replace(BASE, seed=seed) for seed in range(3)]
    alone = [key(spec) for spec in specs]
    counted = Mock(wraps=BASE.data.fingerprint)
    monkeypatch.setattr(Digits, "fingerprint", lambda _, roots: counted(roots))
    assert [run.key for run in identify(specs, ROOTS)] == alone
    assert counted.call_count == 1
