"""Flags made from parameters: one meaning each, both full names where two parts share one, each listed once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from ftt.cli.flags import parse
from ftt.errors import FttError
from ftt.runs.compose import compose, owners_of, resolve
from tests.cli.shell import Shell

CONTRASTIVE = ("--recipe", "ftt", "--freeze", "contrastive")
SHARED = {
    "groups": (("--recipe", "group-dro"), "--method.groups", "--probe.groups"),
    "penalty": (("--recipe", "irm"), "--method.penalty", "--probe.penalty"),
    "epochs": (CONTRASTIVE, "--freeze.epochs", "--train.epochs"),
}


def parsed(*flags: str, **names: Any) -> dict[str, Any]:
    return parse(flags, owners_of({"dataset": "digits", **names}))


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("value", ["1", "attribute"])
def test_a_flag_that_two_parts_have_is_refused_with_both_full_names(name: str, value: str, shell: Shell) -> None:
    """Issue 11: --groups with GroupDRO set the probe's groups without a word."""
    recipe, *full = SHARED[name]
    text = shell.refused("run", "digits", *recipe, f"--{name}", value)
    assert f"{name!r} is ambiguous" in text
    for flag in full:
        assert flag in text


def test_both_full_names_set_their_own_part() -> None:
    flags = parsed("--method.groups", "label-attribute", "--probe.groups=attribute", recipe="group-dro")
    assert flags == {"method.groups": "label-attribute", "probe.groups": "attribute"}
    spec = compose({"dataset": "digits", "recipe": "group-dro", **flags})
    assert (spec.recipe.describe()["method"], spec.probe.groups) == (
        {"name": "group-dro", "eta": 0.01, "groups": "label-attribute"},
        "attribute",
    )
    flags = parsed("--method.penalty", "3", "--probe.penalty", "l1", recipe="irm")
    assert flags == {"method.penalty": 3.0, "probe.penalty": "l1"}
    flags = parsed("--freeze.epochs", "3", "--train.epochs", "2", freeze="contrastive")
    assert flags == {"freeze.epochs": 3, "train.epochs": 2}


@pytest.mark.parametrize("flag", ["--penalty", "--probe.penalty", "--probe-penalty"])
def test_a_flag_that_one_part_has_can_be_short_or_full(flag: str) -> None:
    assert parsed(flag, "l1", recipe="erm") == {"probe.penalty": "l1"}


@pytest.mark.parametrize("name", SHARED)
def test_every_flag_is_listed_once_and_can_be_given_as_listed(name: str, shell: Shell) -> None:
    """Issue 11: --flags listed --groups twice."""
    recipe, *full = SHARED[name]
    lines = shell("run", "digits", *recipe, "--flags").out.splitlines()[1:]
    listed = Counter(line.split()[0] for line in lines if line.startswith(("--", " --")))
    assert set(listed.values()) == {1}
    assert set(full) <= set(listed)
    assert f"--{name}" not in listed
    owners = owners_of({"dataset": "digits", **{w[2:]: v for w, v in zip(recipe[::2], recipe[1::2], strict=True)}})
    assert len({resolve(flag[2:], owners) for flag in listed}) == len(listed)


OFF = (["--no-scale"], ["--scale", "false"], ["--scale=false"], ["--probe.scale=False"])


@pytest.mark.parametrize("words", OFF, ids=" ".join)
def test_every_way_to_switch_a_switch_off_means_the_same(words: list[str]) -> None:
    assert parsed(*words, "--epochs", "3") == {"probe.scale": False, "train.epochs": 3}


@pytest.mark.parametrize("words", [["--scale"], ["--scale", "true"], ["--scale=true"]], ids=" ".join)
def test_every_way_to_switch_a_switch_on_means_the_same(words: list[str]) -> None:
    assert parsed(*words, "--epochs", "3") == {"probe.scale": True, "train.epochs": 3}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--no-scale=true"], "--no-scale takes no value"),
        (["--no-scale", "false"], "expected a flag"),
        (["--scale=maybe"], "--scale expects true or false"),
        (["--scale", "--no-scale"], "given twice"),
        (["--no-epochs", "3"], "did you mean 'epochs'"),
        (["--seeds", "3"], "--probe.seeds"),
    ],
    ids=str,
)
def test_a_flag_that_says_two_things_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(FttError) as error:
        parsed(*words)
    assert message in str(error.value)
