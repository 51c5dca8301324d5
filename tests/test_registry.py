"""What the house offers can be listed without importing it, found by name, and added to."""

from __future__ import annotations

import pytest

from ftt import registry
from ftt.errors import FttError
from ftt.params import Configurable
from ftt.registry import Registry
from ftt.spec import Training

ALL = [registry.DATASETS, registry.BACKBONES, registry.FREEZERS, registry.METHODS]


@pytest.mark.parametrize("offered", ALL, ids=lambda offered: offered.group)
def test_every_target_loads_and_has_a_summary(offered: Registry) -> None:
    for name, entry in offered.entries().items():
        assert entry.summary, name
        assert entry.load() is offered.get(name)


@pytest.mark.parametrize(
    "offered", [registry.DATASETS, registry.FREEZERS, registry.METHODS], ids=lambda offered: offered.group
)
def test_everything_with_parameters_is_called_what_it_is_registered_as(offered: Registry) -> None:
    for name in offered.entries():
        kind = offered.get(name)
        assert issubclass(kind, Configurable)
        assert kind.name == name
        assert all(spec.metadata.get("help") for spec in kind.params())


def test_unknown_name_is_an_error_with_the_nearest_name_and_the_command() -> None:
    with pytest.raises(FttError, match=r"did you mean 'digits'.*ftt ls datasets"):
        registry.DATASETS.get("digit")


def test_member_of_a_family_finds_the_family() -> None:
    offered = Registry("thing", "things", {"family": ("ftt.errors:FttError", "one")})
    assert offered.get("family:member") is FttError


def test_registered_thing_is_offered_and_built_and_a_taken_name_is_refused() -> None:
    offered = Registry("thing", "things", {})
    offered.register("sgd", "ftt.spec:Training", "how to train")
    assert offered.build({"name": "sgd", "epochs": 3}) == Training(epochs=3)
    with pytest.raises(FttError, match="is there already"):
        offered.register("sgd", "ftt.spec:Probing")


def test_building_with_a_wrong_option_is_refused() -> None:
    with pytest.raises(FttError, match="core_noise"):
        registry.DATASETS.build({"name": "digits", "core_nois": 0.1})
