"""``--quiet`` and ``--verbose``: two flags that every command has, declared once."""

from __future__ import annotations

import functools
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from ftt.errors import FttError

Command = TypeVar("Command", bound=Callable[..., Any])

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="no progress and no messages, only results and errors")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="more messages: what is computed, reused and saved")]


class App(typer.Typer):
    """An application whose commands all have the two flags."""

    def command(self, *args: Any, **kwargs: Any) -> Callable[[Command], Command]:
        register = super().command(*args, **kwargs)

        def add(function: Command) -> Command:
            register(with_levels(function))
            return function

        return add


class Level(Enum):
    """How much is written to standard error while a command works."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


_level: ContextVar[Level] = ContextVar("ftt_level", default=Level.NORMAL)


def level() -> Level:
    """The level that the user asked for."""
    return _level.get()


@contextmanager
def at(wanted: Level) -> Iterator[None]:
    """Run the block at a level."""
    token = _level.set(wanted)
    try:
        yield
    finally:
        _level.reset(token)


def with_levels(command: Callable[..., Any]) -> Callable[..., None]:
    """A command with the two flags."""

    @functools.wraps(command)
    def called(*args: Any, quiet: bool = False, verbose: bool = False, **kwargs: Any) -> None:
        if quiet and verbose:
            raise FttError("--quiet and --verbose exclude each other", given="both", allowed="one of them")
        with at(Level.QUIET if quiet else Level.VERBOSE if verbose else level()):
            try:
                command(*args, **kwargs)
            except FttError:
                if verbose:
                    # Somebody who looks for the cause wants to know where it was noticed.
                    traceback.print_exc(file=sys.stderr)
                raise

    # Typer reads the signature; annotations are written as texts in the modules of the commands.
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command)
    known = [p.replace(annotation=hints[name]) for name, p in own.parameters.items()]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in (("quiet", Quiet), ("verbose", Verbose))
    ]
    called.__signature__ = own.replace(parameters=[*known, *shared])  # type: ignore[attr-defined]
    called.__annotations__ = {**hints, "quiet": Quiet, "verbose": Verbose}
    return called
