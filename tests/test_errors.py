"""The error users meet says what is wrong, what was given, what is allowed and what to do next."""

from __future__ import annotations

import copy

from ftt.errors import FttError, unknown


def test_message_has_a_line_for_everything_that_was_said() -> None:
    error = FttError("p is outside its range", given=1.5, allowed="0 <= p <= 1", hint="lower it")
    assert str(error).splitlines() == [
        "p is outside its range",
        "  given:   1.5",
        "  allowed: 0 <= p <= 1",
        "  next:    lower it",
    ]


def test_message_leaves_out_what_was_not_said_but_keeps_falsy_values() -> None:
    assert str(FttError("wrong", given=0)) == "wrong\n  given:   0"


def test_error_survives_the_way_between_processes() -> None:
    error = copy.copy(FttError("wrong", given=1, allowed="2", hint="3"))
    assert (error.problem, error.given, error.allowed, error.hint) == ("wrong", 1, "2", "3")
    assert str(error) == str(FttError("wrong", given=1, allowed="2", hint="3"))


def test_unknown_name_suggests_the_nearest_one_and_the_next_command() -> None:
    error = unknown("data set", "dominos", ["digits", "dominoes"], hint="ftt ls datasets")
    assert error.hint == "did you mean 'dominoes'?; ftt ls datasets"
    assert error.allowed == "digits, dominoes"


def test_unknown_name_far_from_all_others_suggests_nothing() -> None:
    assert unknown("data set", "zzz", ["digits", "dominoes"]).hint is None
