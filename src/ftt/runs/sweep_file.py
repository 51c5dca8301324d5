"""A sweep as a TOML file: a base, a grid over any fields, and a list of further runs.

::

    name = "noise and p on digits"

    [base]                            # names as in `ftt run`
    dataset = "digits"
    recipe = "ftt"
    train.epochs = 2                  # a parameter of data, train, probe, freeze or method

    [grid]                            # every combination
    p = [0.0, 0.25, 0.5]
    data.core_noise = [0.0, 0.2]

    [[runs]]                          # further runs: the base with changes, and with a grid of their own if wanted
    recipe = "init"
    grid.data.core_noise = [0.0, 0.2]
"""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ftt.data.files import printable, read_regular
from ftt.errors import FttError, unknown
from ftt.params import Options
from ftt.runs.compose import NAMES, SAME, Fields, compose
from ftt.spec import Spec

SECTIONS = ("name", "base", "grid", "runs")
LARGEST_FILE = 10_000_000
MOST = 100_000
"""Runs of one sweep; more are a mistake in the grid."""


@dataclass(frozen=True)
class Planned:
    """One run of a sweep: the fields that were given, and their Spec."""

    given: Fields
    spec: Spec


@dataclass(frozen=True)
class Sweep:
    """A named list of runs."""

    name: str
    runs: tuple[Planned, ...]

    @property
    def specs(self) -> list[Spec]:
        return [run.spec for run in self.runs]

    def varied(self) -> list[str]:
        """The fields in which runs differ, in the order in which the file names them."""
        names = dict.fromkeys(name for run in self.runs for name in run.given)
        return [name for name in names if len({str(run.given.get(name)) for run in self.runs}) > 1]


def read(path: Path) -> Sweep:
    """The sweep in a TOML file."""
    shown = printable(path)
    try:
        text = tomllib.loads(read_regular(path, LARGEST_FILE).decode())
    except (OSError, UnicodeDecodeError) as error:
        raise FttError("the sweep file cannot be read", given=shown, allowed="a TOML file", hint=str(error)) from None
    except RecursionError:
        raise _too_deep(shown) from None
    except ValueError as error:
        raise FttError("the sweep file is not valid TOML", given=shown, hint=str(error)[:200]) from None
    return parse(text, path.stem)


def parse(text: Options, name: str = "sweep") -> Sweep:
    """The sweep of a parsed file.

    Examples
    --------
    >>> text = {"base": {"dataset": "digits", "recipe": "ftt"}, "grid": {"p": [0.0, 0.25], "seed": [0, 1, 2]}}
    >>> sweep = parse(text)
    >>> len(sweep.specs), sweep.varied()
    (6, ['p', 'seed'])
    """
    for section in text:
        if section not in SECTIONS:
            hint = "fields of all runs go into [base]" if section in NAMES else None
            raise unknown("section of a sweep", section, SECTIONS, hint=hint)
    if not isinstance(text.get("name", name), str):
        raise FttError("name of a sweep must be text", given=repr(text["name"])[:80], allowed='name = "…"')
    try:
        base = flat(_table(text, "base"))
    except RecursionError:
        raise _too_deep("[base]") from None
    listed = text.get("runs", [])
    if not isinstance(listed, list) or not all(isinstance(run, dict) for run in listed):
        raise FttError("runs of a sweep must be a list of tables", given=repr(listed)[:80], allowed="[[runs]]")
    blocks = [{"grid": _table(text, "grid")}] if "grid" in text or not listed else []
    runs: list[Planned] = []
    for block in [*blocks, *listed]:
        fixed = {**base, **flat({key: value for key, value in block.items() if key != "grid"})}
        grid = flat(_table(block, "grid"))
        count = len(runs) + combinations(grid)
        if count > MOST:
            raise FttError("the sweep is too large", given=f"{count:,} runs or more", allowed=f"at most {MOST:,} runs")
        for point in product(grid):
            given = {**fixed, **point}
            runs.append(Planned(given, compose(given)))
    return Sweep(text.get("name", name), tuple(runs))


def _too_deep(given: str) -> FttError:
    return FttError("the sweep is nested too deeply", given=given, allowed="tables like train.epochs = 2")


def flat(table: Options, above: str = "") -> Fields:
    """Nested tables as dotted names.

    Examples
    --------
    >>> flat({"data": {"core_noise": 0.2}, "method": {"name": "jtt", "upweight": 5.0}})
    {'data.core_noise': 0.2, 'method': 'jtt', 'method.upweight': 5.0}
    """
    fields: Fields = {}
    for key, value in table.items():
        name = f"{above}{key}"
        found = flat(value, f"{name}.") if isinstance(value, Mapping) else {SAME.get(name, name): value}
        for twice in found.keys() & fields.keys():
            raise FttError(f"{twice} is given twice", given=name, allowed="one way of writing each field")
        fields |= found
    return fields


def combinations(axes: Options) -> int:
    """The number of runs of a grid, counted before any is made."""
    for name, values in axes.items():
        if not isinstance(values, list) or not values:
            raise FttError(
                f"{name} of a grid must be a list of values", given=repr(values)[:80], allowed=f"{name} = [ … ]"
            )
    return math.prod(len(values) for values in axes.values())


def product(axes: Options) -> Iterator[Fields]:
    """Every combination of the values of a grid; of an empty grid, the one without any."""
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def _table(text: Options, name: str) -> Options:
    table = text.get(name, {})
    if not isinstance(table, Mapping):
        raise FttError(f"{name} of a sweep must be a table", given=repr(table)[:80], allowed=f"[{name}]")
    return table
