"""Whatever is given, the answer is a Spec or words: flags, sweep mappings and descriptions drawn at random."""

from __future__ import annotations

import json
from dataclasses import MISSING
from typing import Any, get_type_hints

from hypothesis import given, settings
from hypothesis import strategies as st

from ftt import registry
from ftt.cli.flags import parse
from ftt.data import Roots
from ftt.errors import FttError
from ftt.params import Configurable
from ftt.recipe import PRESETS, preset
from ftt.runs.compose import NAMES, compose, owners_of
from ftt.runs.sweep_file import parse as parse_sweep
from ftt.spec import Probing, Spec, Training

ROOTS = Roots.from_environment()
OWNERS = owners_of({"dataset": "digits"})
FLAGS = [f"--{field.name.replace('_', '-')}" for owner in OWNERS.values() for field in owner.params()]
FIELDS = [field.name for owner in OWNERS.values() for field in owner.params()]
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSON = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMED = st.sampled_from([*FIELDS, *NAMES, "train.epochs", "freeze.p", "freeze_p", "data.core_noise", "method.name"])


def of(owner: type[Configurable]) -> st.SearchStrategy[Any]:
    """Valid objects of a class, most of their parameters at random."""
    kinds, drawn = get_type_hints(owner), {}
    for field in owner.params():
        low, high, choices = (field.metadata.get(name) for name in ("low", "high", "choices"))
        if choices:
            drawn[field.name] = st.sampled_from(list(choices))
        elif kinds[field.name] is bool:
            drawn[field.name] = st.booleans()
        elif kinds[field.name] is int:
            drawn[field.name] = st.integers(int(low or 0), int(min(high or 10**6, 10**6)))
        elif kinds[field.name] is float:
            smallest = (low or 0.0) + (1e-6 if field.metadata.get("open_low") else 0.0)
            drawn[field.name] = st.floats(smallest, high if high is not None else 1e6)
        elif field.default is not MISSING:
            drawn[field.name] = st.just(field.default)
    return st.builds(owner, **drawn)


def in_words(error: FttError) -> None:
    """A message that is empty, or longer than a screen, tells nobody anything."""
    assert 0 < len(str(error)) < 3000


SPECS = st.builds(
    Spec,
    data=of(registry.DATASETS.get("digits")),
    backbone=st.just("identity"),
    recipe=st.sampled_from([*PRESETS]).map(preset),
    train=of(Training),
    probe=of(Probing),
    seed=st.integers(0, 2**63 - 1),
)


@given(SPECS)
@settings(max_examples=100)
def test_any_spec_survives_json_and_keeps_its_key(spec: Spec) -> None:
    again = Spec.from_description(json.loads(json.dumps(spec.describe())))
    assert again == spec
    assert again.describe() == spec.describe()
    assert again.identify(ROOTS).key == spec.identify(ROOTS).key


@given(SPECS, st.integers(0, 2**63 - 1))
@settings(max_examples=50)
def test_another_seed_is_another_run_where_anything_is_trained(spec: Spec, seed: int) -> None:
    changed = Spec.from_description({**spec.describe(), "seed": seed})
    same = seed == spec.seed or not spec.recipe.trains
    assert (changed.identify(ROOTS).key == spec.identify(ROOTS).key) is same


@given(st.lists(st.sampled_from(FLAGS) | st.text(max_size=12) | st.integers().map(str) | st.floats().map(str)))
@settings(max_examples=300)
def test_any_command_line_is_a_spec_or_words(words: list[str]) -> None:
    try:
        made = compose({"dataset": "digits", **parse(words, OWNERS)})
    except FttError as error:
        in_words(error)
    else:
        assert isinstance(made, Spec)


@given(st.dictionaries(NAMED, JSON, max_size=4), st.dictionaries(NAMED, st.lists(JSON, max_size=3) | JSON, max_size=2))
@settings(max_examples=300)
def test_any_sweep_is_a_list_of_specs_or_words(base: dict[str, Any], grid: dict[str, Any]) -> None:
    try:
        made = parse_sweep({"base": {"dataset": "digits", **base}, "grid": grid})
    except FttError as error:
        in_words(error)
    else:
        assert all(isinstance(spec, Spec) for spec in made.specs)


@given(st.dictionaries(st.sampled_from(["name", "base", "grid", "runs"]) | st.text(max_size=5), JSON, max_size=4))
@settings(max_examples=200)
def test_any_mapping_given_as_a_sweep_is_a_sweep_or_words(text: dict[str, Any]) -> None:
    try:
        parse_sweep(text)
    except FttError as error:
        in_words(error)


@given(st.sampled_from(["data", "backbone", "recipe", "train", "probe", "seed"]), JSON)
@settings(max_examples=300)
def test_any_part_of_a_description_may_be_anything(part: str, value: Any) -> None:
    text = {**compose({"dataset": "digits"}).describe(), part: value}
    try:
        made = Spec.from_description(text)
    except FttError as error:
        in_words(error)
    else:
        assert isinstance(made, Spec)


@given(st.sampled_from([Training, Probing, registry.FREEZERS.get("pca"), registry.METHODS.get("jtt")]), st.data())
@settings(max_examples=200)
def test_any_option_is_a_configuration_or_words(owner: type[Configurable], data: st.DataObject) -> None:
    names = st.sampled_from([field.name for field in owner.params()]) | st.text(max_size=5)
    try:
        made = owner.from_options(data.draw(st.dictionaries(names, JSON, max_size=3)))
    except FttError as error:
        in_words(error)
    else:
        assert owner.from_options(made.describe()) == made
