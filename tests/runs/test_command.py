"""The command that makes a run again has the very same Spec."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from ftt.cli.flags import parse
from ftt.recipe import Recipe
from ftt.runs.command import command_of
from ftt.runs.compose import NAMES, compose, owners_of
from ftt.sources.initial import Initial
from ftt.spec import Spec


def read_back(command: str) -> Spec:
    """The Spec of a call of `ftt run`."""
    words = shlex.split(command)[2:]
    given: dict[str, Any] = {"dataset": words.pop(0)}
    rest = []
    for flag, value in zip(words[::2], words[1::2], strict=True):
        name = flag.removeprefix("--")
        if name in NAMES:
            given[name] = float(value) if name == "p" else int(value) if name == "seed" else value
        else:
            rest += [flag, value]
    return compose({**given, **parse(rest, owners_of(given))})


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"recipe": "erm", "core_noise": 0.2, "seed": 3},
        {"recipe": "ftt", "p": 0.5, "epochs": 2, "probe.groups": "label-attribute"},
        {"recipe": "ftt", "method": "group-dro", "method.groups": "attribute", "join": "late"},
        {"recipe": "ftt", "freeze": "contrastive", "freeze.epochs": 3, "train.epochs": 2, "data.seed": 7},
        {"recipe": "both", "budget": "smoke", "scale": True},
        {"recipe": "two-teachers", "labels": "soft", "rounds": 2, "two_teachers.by": "erm"},
        {"recipe": "all-three", "taught.by": "group-dro", "epochs": 2},
        {"recipe": "wise-ft", "alpha": 0.5},
        {"protocol": "dfr-original", "backbone": "identity", "recipe": "init"},
        {"dataset": "embeddings", "path": "my features.npz", "shares": (0.5, 0.25, 0.25)},
        {"dataset": "celeba", "subsample": False},
    ],
    ids=str,
)
def test_the_command_has_the_same_spec(given: dict[str, Any]) -> None:
    spec = compose({"dataset": "digits", **given})
    command = command_of(spec)
    assert command is not None
    assert read_back(command) == spec


def test_a_recipe_that_no_flags_describe_has_no_command() -> None:
    spec = compose({"dataset": "digits", "recipe": Recipe(sources=(Initial(), Initial()))})
    assert command_of(spec) is None
