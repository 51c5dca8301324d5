"""From names to a Spec: every parameter goes where its name says, and a name that could mean two is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ftt import registry
from ftt.errors import FttError
from ftt.freeze.pca import PCA
from ftt.methods.erm import ERM
from ftt.methods.group_dro import GroupDRO
from ftt.recipe import PRESETS, Recipe
from ftt.runs.compose import compose, owners_of, resolve
from ftt.spec import PROTOCOLS

DIGITS = {"dataset": "digits"}
GROUP_DRO = {**DIGITS, "recipe": "group-dro"}


def test_a_name_that_two_parts_have_is_refused_with_both_full_names() -> None:
    """Issue 11: `--groups` with GroupDRO silently set the groups of the probe."""
    with pytest.raises(FttError, match="'groups' is ambiguous") as told:
        compose({**GROUP_DRO, "groups": "attribute"})
    assert "--probe.groups or --method.groups" in str(told.value)


def test_full_names_reach_the_part_they_name_and_no_other() -> None:
    given = {**GROUP_DRO, "method.groups": "attribute", "probe.groups": "label-attribute"}
    spec = compose(given)
    assert isinstance(spec.recipe.method, GroupDRO)
    assert (spec.recipe.method.groups, spec.probe.groups) == ("attribute", "label-attribute")


@pytest.mark.parametrize("method", list(registry.METHODS.entries()))
@pytest.mark.parametrize("freezer", list(registry.FREEZERS.entries()))
def test_every_parameter_has_a_name_of_its_own_or_is_refused(freezer: str, method: str) -> None:
    """A short name means one part only, whatever freezer and method are chosen."""
    owners = owners_of({**DIGITS, "freeze": freezer, "method": method})
    for role, owner in owners.items():
        for field in owner.params():
            assert resolve(f"{role}.{field.name}", owners) == f"{role}.{field.name}"
            having = [one for one, other in owners.items() if field.name in {f.name for f in other.params()}]
            if having == [role] and field.name != "seeds":
                assert resolve(field.name, owners) == f"{role}.{field.name}"
            else:
                with pytest.raises(FttError, match="ambiguous"):
                    resolve(field.name, owners)


def test_seed_is_that_of_the_run_and_its_noise_unless_the_datas_is_given() -> None:
    same, apart = compose({**DIGITS, "seed": 3}), compose({**DIGITS, "seed": 3, "data.seed": 1})
    assert (same.seed, same.data.describe()["seed"]) == (3, 3)
    assert (apart.seed, apart.data.describe()["seed"]) == (3, 1)


def test_a_parameter_goes_before_the_protocol_and_that_before_the_table() -> None:
    spec = compose({**DIGITS, "protocol": "dfr-original", "averages": 5})
    assert spec.probe.averages == 5
    for name, value in PROTOCOLS["dfr-original"].items():
        if name != "averages":
            assert getattr(spec.probe, name) == value


@pytest.mark.parametrize("name", PRESETS)
def test_every_recipe_can_be_given_by_name_or_as_an_object(name: str) -> None:
    assert compose({**DIGITS, "recipe": name}) == compose({**DIGITS, "recipe": PRESETS[name].build()})


@pytest.mark.parametrize("more", [{"p": 0.5}, {"method": "irm"}, {"join": "late"}, {"freeze": "random"}])
def test_a_complete_recipe_takes_no_further_names(more: dict[str, Any]) -> None:
    with pytest.raises(FttError, match="a name, or a complete Recipe"):
        compose({**DIGITS, "recipe": Recipe(PCA(), ERM()), **more})


def test_what_a_caller_sets_in_a_recipe_is_not_overwritten_by_the_table() -> None:
    """The table gives IRM on digits its halves; parameters that differ from their default stay."""
    spec = compose({**DIGITS, "recipe": "irm", "method.penalty": 7.0})
    assert spec.recipe.method is not None
    described = spec.recipe.method.describe()
    assert (described["variant"], described["penalty"]) == ("halves", 7.0)
