"""What the house offers can be listed without importing it, found by name, and added to."""

from __future__ import annotations

from typing import Any

import pytest

from ftt import registry
from ftt.errors import FttError
from ftt.paper.experiment import Experiment
from ftt.params import Configurable
from ftt.registry import PartRegistry, Registry
from ftt.spec import Training

PARTS: list[PartRegistry[Any]] = [registry.DATASETS, registry.FREEZERS, registry.METHODS]
ALL: list[Registry[Any]] = [*PARTS, registry.BACKBONES, registry.EXPERIMENTS]


@pytest.mark.parametrize("offered", ALL, ids=lambda offered: offered.group)
def test_every_target_loads_and_has_a_summary(offered: Registry[Any]) -> None:
    for name, entry in offered.entries().items():
        assert entry.summary, name
        assert entry.load() is offered.get(name)


@pytest.mark.parametrize("offered", PARTS, ids=lambda offered: offered.group)
def test_everything_with_parameters_is_called_what_it_is_registered_as(offered: PartRegistry[Any]) -> None:
    for name in offered.entries():
        kind = offered.get(name)
        assert issubclass(kind, Configurable)
        assert kind.name == name
        assert all(spec.metadata.get("help") for spec in kind.params())


def test_an_experiment_is_called_what_it_is_registered_as() -> None:
    for name in registry.EXPERIMENTS.entries():
        assert registry.EXPERIMENTS.get(name).name == name


def test_unknown_name_is_an_error_with_the_nearest_name_and_the_command() -> None:
    with pytest.raises(FttError, match=r"did you mean 'digits'.*ftt ls datasets"):
        registry.DATASETS.get("digit")


def test_member_of_a_family_finds_the_family() -> None:
    offered: Registry[Any] = Registry("thing", "things", {"family": ("ftt.errors:FttError", "one")})
    assert offered.get("family:member") is FttError


def test_registered_thing_is_offered_and_built_and_a_taken_name_is_refused() -> None:
    offered: PartRegistry[Training] = PartRegistry("thing", "things", {})
    offered.register("sgd", "ftt.spec:Training", "how to train")
    assert offered.build({"name": "sgd", "epochs": 3}) == Training(epochs=3)
    with pytest.raises(FttError, match="already registered"):
        offered.register("sgd", "ftt.spec:Probing")


def test_an_experiment_of_another_package_is_run_like_those_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    offered: Registry[Experiment] = Registry("experiment", "experiments", {})
    monkeypatch.setattr(registry, "EXPERIMENTS", offered)
    offered.register("own", "ftt.paper.toy_figure:FIG3", "a figure")
    import ftt

    assert ftt.ls("experiments") == {"experiments": {"own": "a figure"}}
    assert ftt.reproduce("own", budget="smoke").findings.sentences


@pytest.mark.parametrize("description", [{}, {"name": None}, {"p": 0.25}])
def test_a_description_without_a_name_is_refused(description: dict[str, Any]) -> None:
    with pytest.raises(FttError, match="described by its name and parameters"):
        registry.FREEZERS.build(description)


def test_a_target_that_cannot_be_imported_is_reported_with_its_address() -> None:
    offered: Registry[Any] = Registry("thing", "things", {"gone": ("ftt.nowhere:Thing", "one")})
    with pytest.raises(FttError, match=r"cannot be imported\n.*ftt\.nowhere:Thing"):
        offered.get("gone")


def test_building_with_a_wrong_option_is_refused() -> None:
    with pytest.raises(FttError, match="core_noise"):
        registry.DATASETS.build({"name": "digits", "core_nois": 0.1})
