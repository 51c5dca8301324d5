"""A sweep's file becomes Specs: a grid, a list, the same keys as `ftt run` gives, and words for every slip."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from ftt.cli.flags import parse as parse_flags
from ftt.data import Roots
from ftt.errors import FttError
from ftt.methods.jtt import JTT
from ftt.runs.compose import compose, owners_of
from ftt.runs.sweep_file import MOST, Sweep, parse, read
from ftt.spec import identify

BASE = {"dataset": "digits", "backbone": "identity"}


def sweep(text: str) -> Sweep:
    return parse(tomllib.loads(text))


def keys(made: Sweep) -> set[str]:
    return {run.key for run in identify(made.specs, Roots.from_environment())}


def test_a_grid_is_every_combination_in_the_order_of_the_file() -> None:
    made = sweep('[base]\ndataset = "digits"\n[grid]\np = [0.25, 0.5]\n"data.core_noise" = [0.0, 0.1, 0.2]')
    assert [(run.given["p"], run.given["data.core_noise"]) for run in made.runs] == [
        (p, noise) for p in (0.25, 0.5) for noise in (0.0, 0.1, 0.2)
    ]
    assert len(keys(made)) == 6
    assert made.varied() == ["p", "data.core_noise"]


def test_runs_are_the_base_with_changes_and_may_have_a_grid_of_their_own() -> None:
    made = sweep(
        """
        [base]
        dataset = "digits"
        train.epochs = 2
        [grid]
        p = [0.25]
        [[runs]]
        recipe = "erm"
        [[runs]]
        recipe = "jtt"
        method.upweight = 3
        grid.seed = [0, 1]
        """
    )
    assert len(made.specs) == 4
    methods = [spec.recipe.method for spec in made.specs]
    assert [method and method.name for method in methods] == ["erm", "erm", "jtt", "jtt"]
    assert isinstance(methods[2], JTT)
    assert methods[2].upweight == 3
    assert [spec.seed for spec in made.specs] == [0, 0, 0, 1]
    assert {spec.train.epochs for spec in made.specs} == {2}


def test_quoted_dotted_and_nested_names_are_the_same() -> None:
    texts = ("[base.data]\ncore_noise = 0.2", '[base]\n"data.core_noise" = 0.2', "[base]\ndata.core_noise = 0.2")
    made = [sweep(f'{text}\n[[runs]]\ndataset = "digits"').specs for text in texts]
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize(
    ("p", "budget"), [(None, "cpu"), (0.0, "cpu"), (0.25, "cpu"), (1.0, "cpu"), (0.0, "paper"), (0.25, "paper")]
)
def test_specs_are_those_of_ftt_run(p: float | None, budget: str) -> None:
    given = {"dataset": "dominoes", "recipe": "ftt", "budget": budget, "protocol": "dfr-original", "seed": 3}
    given |= {} if p is None else {"p": p}
    flags = parse_flags(["--core-noise", "0.2", "--batch-size", "32"], owners_of(given))
    (spec,) = parse({"base": {**given, "data": {"core_noise": 0.2}, "train": {"batch_size": 32}}}).specs
    assert spec == compose({**given, **flags})


def test_a_sweep_over_p_at_the_papers_budget_keeps_one_backbone() -> None:
    """With p = 1 nothing is trained; it is still compared with what was trained from the same network."""
    made = parse({"base": {"dataset": "dominoes", "budget": "paper"}, "grid": {"p": [0.0, 0.5, 1.0]}})
    assert {spec.backbone for spec in made.specs} == {"timm:resnet18.tv_in1k"}


def test_parameters_of_freezer_and_method_hold_for_every_p() -> None:
    made = parse({"base": {**BASE, "freeze": {"variant": "released"}}, "grid": {"p": [0, 0.5, 1]}})
    recipes = [spec.recipe for spec in made.specs]
    assert [(recipe.freeze is not None, recipe.method is not None) for recipe in recipes] == [
        (False, True),
        (True, True),
        (True, False),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ({"base": {**BASE, "core_nois": 0.2}}, "did you mean 'core_noise'"),
        ({"base": BASE, "grid": {"train.epoch": [1]}}, "did you mean 'train.epochs'"),
        ({"base": {**BASE, "method": "group-dro", "groups": "attribute"}}, "--probe.groups or --method.groups"),
        ({"base": {**BASE, "recipe": "fft"}}, "did you mean 'ftt'"),
        ({"base": {**BASE, "dataset": "digit"}}, "did you mean 'digits'"),
        ({"base": {**BASE, "backbone": 3}}, "backbone must be a name"),
        ({"base": {**BASE, "backbone": "identify"}}, "did you mean 'identity'"),
        ({"base": {**BASE, "budget": "gpu"}}, "there is no budget called"),
        ({"base": {**BASE, "protocol": "mine"}}, "there is no protocol called"),
        ({"base": {"recipe": "ftt"}}, "a run needs a data set"),
        ({"base": {**BASE, "recipe": 3}}, "a recipe must be a name"),
        ({"base": {**BASE, "seed": "x"}}, "seed must be a non-negative integer"),
        ({"base": BASE, "grid": {"p": 0.5}}, "p of a grid must be a list"),
        ({"base": BASE, "grid": {"p": []}}, "p of a grid must be a list"),
        ({"base": BASE, "grid": {"p": [1.5]}}, "0 <= p <= 1"),
        ({"base": {**BASE, "recipe": "erm"}, "grid": {"p": [0.5]}}, "freezes nothing"),
        ({"base": BASE, "grids": {}}, "did you mean 'grid'"),
        ({**BASE}, "fields of all runs go into [base]"),
        ({"base": BASE, "runs": {"seed": 1}}, "must be a list of tables"),
        ({"base": 3}, "base of a sweep must be a table"),
    ],
)
def test_a_slip_is_told_with_what_was_meant(text: dict[str, Any], words: str) -> None:
    with pytest.raises(FttError) as told:
        parse(text)
    assert words in str(told.value)


def test_a_file_that_is_missing_or_no_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(FttError, match="cannot be read"):
        read(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("base = [")
    with pytest.raises(FttError, match="TOML"):
        read(tmp_path / "bad.toml")


def test_the_example_is_a_sweep_of_twelve_different_runs() -> None:
    made = read(Path(__file__).parents[2] / "examples" / "sweep.toml")
    assert len(keys(made)) == 12


def test_a_grid_beyond_all_reason_is_refused_before_it_is_made() -> None:
    axes = {f"{role}.seed": list(range(1000)) for role in ("data", "probe", "freeze")}
    with pytest.raises(FttError, match="too large") as told:
        parse({"base": BASE, "grid": axes})
    assert "1,000,000,000 runs" in str(told.value)
    assert f"{MOST:,}" in str(told.value)


def test_short_and_full_names_of_a_parameter_are_the_same() -> None:
    short = parse({"base": {**BASE, "core_noise": 0.2, "epochs": 2, "probe_seeds": 3}}).specs
    assert short == parse({"base": {**BASE, "data": {"core_noise": 0.2}, "train.epochs": 2, "probe.seeds": 3}}).specs
