"""Flags that every command has: -h, --quiet and -v."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from ftt.cli import app
from tests.cli.shell import Shell

RUN = ("run", "digits", "--recipe", "init", "--backbone", "identity")


def commands(parser: Any, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every command as the words that name it."""
    below = getattr(parser, "commands", {})
    return [found for name, one in below.items() for found in commands(one, (*words, name))] or [words]


@pytest.mark.parametrize("words", commands(typer.main.get_command(app)), ids=" ".join)
def test_every_command_answers_to_h_and_has_both_flags(words: tuple[str, ...], shell: Shell) -> None:
    answer = shell(*words, "-h")
    assert answer.code == 0
    assert answer.out == shell(*words, "--help").out
    assert "--quiet" in answer.out
    assert "--verbose" in answer.out


def test_h_alone_lists_the_commands(shell: Shell) -> None:
    answer = shell("-h")
    assert answer.code == 0
    assert "compare" in answer.out


def test_quiet_prints_the_result_and_nothing_else(shell: Shell) -> None:
    """Issue 14: an unknown --quiet was answered with a suggestion of --augment."""
    (shell.folder / "sweep.toml").write_text('[base]\ndataset = "digits"\nrecipe = "init"\nbackbone = "identity"\n')
    call = ("sweep", shell.folder / "sweep.toml", "--workers", 1)
    assert "already in the store" in shell(*call).err
    quiet = shell(*call, "--quiet")
    assert quiet.err == ""
    assert "worst group" in quiet.out
    assert shell(*call, "-q").out == quiet.out


def test_errors_are_printed_even_where_it_is_quiet(shell: Shell) -> None:
    assert "no data set called" in shell.refused("run", "digit", "--quiet")


def test_verbose_says_what_is_computed_and_what_is_reused(shell: Shell) -> None:
    assert "computed in" not in shell(*RUN).err
    first = shell(*RUN, "--core-noise", 0.1, "-v").err
    assert "features" in first
    assert "computed in" in first
    again = shell(*RUN, "--core-noise", 0.1, "--averages", 3, "--verbose").err
    assert "from the store" in again
    assert "computed in" not in again


def test_verbose_shows_where_an_error_was_noticed(shell: Shell) -> None:
    assert "Traceback" in shell("run", "digits", "--p", 2, "-v").err


def test_quiet_and_verbose_exclude_each_other(shell: Shell) -> None:
    assert "exclude each other" in shell.refused(*RUN, "-q", "-v")
