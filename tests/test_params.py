"""Parameters are validated where they are declared, and described by one canonical text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ftt.errors import FttError
from ftt.params import Configurable, canonical, describe_range, digest, param

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@dataclass(frozen=True)
class Oven(Configurable):
    name: ClassVar[str] = "oven"

    share: float = param(0.5, help="how full", low=0, high=1)
    heat: float = param(1.0, help="how hot", low=0, open_low=True)
    trays: int = param(2, help="how many", low=1)
    mode: str = param("top", help="which side", choices=("top", "bottom"))
    fan: bool = param(False, help="with air")
    until: int | None = param(None, help="minutes", low=1)
    steps: tuple[float, ...] = param((1.0, 2.0), help="heats", low=0, open_low=True)


@pytest.mark.parametrize(
    "options",
    [
        {"share": 1.0001},
        {"share": -0.1},
        {"share": float("nan")},
        {"share": float("inf")},
        {"share": "0.5"},
        {"share": True},
        {"share": None},
        {"heat": 0.0},
        {"trays": 0},
        {"trays": 1.5},
        {"trays": True},
        {"mode": "side"},
        {"fan": 1},
        {"until": 0},
        {"steps": 3.0},
        {"steps": "1,2"},
        {"steps": (1.0, 0.0)},
    ],
)
def test_value_of_the_wrong_type_or_range_is_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(FttError, match=next(iter(options))) as caught:
        Oven(**options)
    assert caught.value.allowed


@pytest.mark.parametrize(
    "options",
    [{"share": 0}, {"share": 1}, {"heat": 1e-9}, {"until": None}, {"until": 5}, {"steps": [1, 2, 3]}, {"fan": True}],
)
def test_value_at_the_edge_of_its_range_is_taken(options: dict[str, Any]) -> None:
    Oven(**options)


def test_whole_number_becomes_a_float_where_a_float_is_meant_so_that_the_hash_is_one() -> None:
    assert Oven(share=1).describe() == Oven(share=1.0).describe()
    assert canonical(Oven(share=1).describe()) == canonical(Oven(share=1.0).describe())


def test_unknown_option_suggests_the_parameter_that_was_meant() -> None:
    with pytest.raises(FttError, match="did you mean 'share'"):
        Oven.from_options({"shar": 0.5})


def test_required_parameter_is_asked_for() -> None:
    @dataclass(frozen=True)
    class Needy(Configurable):
        name: ClassVar[str] = "needy"
        path: str = param(help="where")

    with pytest.raises(FttError, match="'needy' needs path"):
        Needy.from_options({})


def test_replace_validates_again_and_leaves_the_original() -> None:
    oven = Oven()
    assert oven.replace(trays=4).trays == 4
    assert oven.trays == 2
    with pytest.raises(FttError):
        oven.replace(trays=0)


def test_description_reads_back_to_the_same_object() -> None:
    oven = Oven(share=0.25, until=7, steps=(3.0,))
    described = oven.describe()
    assert described.pop("name") == "oven"
    assert Oven.from_options(described) == oven


def test_ranges_are_told_in_words() -> None:
    told = {spec.name: describe_range(spec) for spec in Oven.params()}
    assert told["share"] == "0 <= share <= 1"
    assert told["heat"] == "0 < heat"
    assert told["mode"] == "top, bottom"


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=5), plain, max_size=5))
def test_digest_does_not_depend_on_the_order_of_keys(value: dict[str, Any]) -> None:
    assert digest(value) == digest(dict(reversed(list(value.items()))))


@settings(deadline=None)
@given(plain, plain)
def test_digests_agree_only_where_the_canonical_texts_do(one: Any, other: Any) -> None:
    assert (digest(one) == digest(other)) == (canonical(one) == canonical(other))


def test_nan_has_no_canonical_text() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical({"x": float("nan")})


def test_a_parameter_added_later_leaves_the_hash_alone_until_it_is_used() -> None:
    @dataclass(frozen=True)
    class Later(Oven):
        steam: bool = param(False, help="steam", added=True)

    assert Later().identity() == Oven().identity()
    assert Later().describe() != Oven().describe()
    assert Later(steam=True).identity()["steam"] is True
