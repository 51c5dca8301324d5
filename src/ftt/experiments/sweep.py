"""A sweep as a file: a base, a grid over any field, a list of further runs; TOML in, Specs out.

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
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ftt.errors import FttError, unknown
from ftt.experiments.compose import NAMES, Fields, compose
from ftt.params import Json
from ftt.spec import Spec

SECTIONS = ("name", "base", "grid", "runs")
SAME = {"freeze.name": "freeze", "method.name": "method", "freeze.p": "p"}
"""Two ways of writing one field."""


@dataclass(frozen=True)
class Planned:
    """One run of a sweep: what was asked for, and the Spec that came of it."""

    given: Fields
    spec: Spec


@dataclass(frozen=True)
class Sweep:
    """Runs with a name."""

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
    try:
        text = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise FttError("the sweep cannot be read", given=path, allowed="a TOML file", hint=str(error)) from None
    except tomllib.TOMLDecodeError as error:
        raise FttError("the sweep is not written in TOML", given=path, hint=str(error)) from None
    return parse(text, path.stem)


def parse(text: Mapping[str, Json], name: str = "sweep") -> Sweep:
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
            hint = "fields of all runs stand in [base]" if section in NAMES else None
            raise unknown("part of a sweep", section, SECTIONS, hint=hint)
    base = flat(_table(text, "base"))
    listed = text.get("runs", [])
    if not isinstance(listed, list) or not all(isinstance(run, dict) for run in listed):
        raise FttError("runs of a sweep is no list of tables", given=repr(listed)[:80], allowed="[[runs]]")
    blocks = [{"grid": _table(text, "grid")}] if "grid" in text or not listed else []
    runs = []
    for block in [*blocks, *listed]:
        fixed = {**base, **flat({key: value for key, value in block.items() if key != "grid"})}
        for point in product(_table(block, "grid")):
            given = {**fixed, **point}
            runs.append(Planned(given, compose(given)))
    return Sweep(str(text.get("name", name)), tuple(runs))


def flat(table: Mapping[str, Json], above: str = "") -> Fields:
    """Nested tables as dotted names.

    Examples
    --------
    >>> flat({"data": {"core_noise": 0.2}, "method": {"name": "jtt", "upweight": 5.0}})
    {'data.core_noise': 0.2, 'method': 'jtt', 'method.upweight': 5.0}
    """
    fields: Fields = {}
    for key, value in table.items():
        name = f"{above}{key}"
        fields |= flat(value, f"{name}.") if isinstance(value, Mapping) else {SAME.get(name, name): value}
    return fields


def product(grid: Mapping[str, Json]) -> Iterator[Fields]:
    """Every combination of the values of a grid; of none, the one without any."""
    axes = flat(grid)
    for name, values in axes.items():
        if not isinstance(values, list) or not values:
            raise FttError(f"{name} of a grid needs a list of values", given=repr(values), allowed=f"{name} = [ … ]")
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def _table(text: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    table = text.get(name, {})
    if not isinstance(table, Mapping):
        raise FttError(f"{name} of a sweep is no table", given=repr(table)[:80], allowed=f"[{name}]")
    return table
