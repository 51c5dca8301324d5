"""ftt compare: recipes on the same rows, and whether they can be told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

import ftt
from ftt.errors import FttError
from tests.cli.shell import Shell


def test_each_recipe_is_compared_with_the_first_on_the_same_rows(shell: Shell) -> None:
    made = shell.json("compare", "digits", "init", "erm", "both", "--budget", "smoke", "--core-noise", "0.2")
    assert made["base"] == "init"
    assert set(made["runs"]) == {"init", "erm", "both"}
    for recipe in ("erm", "both"):
        found = made["differences"][recipe]
        gain = made["runs"][recipe][0]["worst_group_accuracy"] - made["runs"]["init"][0]["worst_group_accuracy"]
        assert found["value"] == pytest.approx(gain)
        assert found["low"] <= found["value"] <= found["high"]


def test_recipes_that_cannot_be_told_apart_are_called_that(shell: Shell) -> None:
    answer = shell("compare", "digits", "init", "leace", "--budget", "smoke")
    assert answer.code == 0, answer.err
    assert "leace: not distinguishable from init" in answer.out
    assert "worst label, group" in answer.out


def test_several_seeds_are_paired_and_framed(tmp_path: Path) -> None:
    made = ftt.compare("digits", ["init", "erm"], seeds=2, budget="smoke", home=tmp_path)
    frame = made.to_frame()
    assert frame.groupby("recipe").size().to_dict() == {"init": 2, "erm": 2}
    assert "erm" in str(made)


@pytest.mark.parametrize("words", [("digits",), ("digits", "erm"), ("digits", "erm", "fttt")])
def test_fewer_than_two_recipes_or_an_unknown_one_are_refused(shell: Shell, words: tuple[str, ...]) -> None:
    assert "recipe" in shell.refused("compare", *words)


def test_one_name_is_not_a_list_of_letters() -> None:
    with pytest.raises(FttError, match="at least two recipes"):
        ftt.compare("digits", "erm")
