"""A recipe is a freezer plus a method: it keeps its name, has one simplest form, and reads back from JSON."""

from __future__ import annotations

import json

import pytest

from ftt.errors import FttError
from ftt.freeze.contrastive import Contrastive
from ftt.freeze.pca import PCA
from ftt.methods.erm import ERM
from ftt.methods.jtt import JTT
from ftt.recipe import PRESETS, Recipe, as_recipe, preset


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_called_by_its_name_and_reads_back_from_json(name: str) -> None:
    recipe = preset(name)
    assert recipe.name == name
    assert as_recipe(name) == as_recipe(recipe) == recipe
    assert Recipe.from_description(json.loads(json.dumps(recipe.describe()))) == recipe


@pytest.mark.parametrize(
    ("recipe", "name"),
    [
        (preset("ftt", p=0.75), "ftt"),
        (preset("ftt", p=0.0), "erm"),
        (preset("ftt", p=1.0), "pca"),
        (Recipe(PCA(p=0.5), ERM()), "ftt"),
        (Recipe(PCA(p=0.5), JTT(upweight=5)), "pca+jtt"),
        (Recipe(Contrastive(p=0.5), ERM(), "late"), "contrastive+erm-late"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_name_says_what_is_frozen_and_trained_whatever_the_numbers(recipe: Recipe, name: str) -> None:
    assert recipe.name == name


def test_p_of_zero_freezes_nothing_and_p_of_one_leaves_nothing_to_train() -> None:
    assert preset("ftt", p=0.0) == preset("erm")
    assert preset("ftt", p=1.0) == preset("pca")
    assert preset("ftt-late", p=1.0) == preset("pca")


def test_another_method_or_freezer_takes_the_place_of_the_presets() -> None:
    assert preset("ftt", method="jtt") == Recipe(PCA(), JTT())
    assert preset("ftt", method="none") == Recipe(PCA(), None)
    assert preset("ftt-released", freeze="contrastive") == Recipe(Contrastive(), ERM())


@pytest.mark.parametrize("name", [name for name, chosen in PRESETS.items() if chosen.freeze is None])
def test_a_recipe_that_freezes_nothing_has_no_p(name: str) -> None:
    with pytest.raises(FttError, match="freezes nothing"):
        preset(name, p=0.5)
