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
from dataclasses import dataclass, replace
from pathlib import Path

from ftt import registry
from ftt.errors import FttError, unknown
from ftt.params import Configurable, Json
from ftt.spec import PROTOCOLS, Probing, Spec, Training
from ftt.train.presets import paper_setting
from ftt.train.recipe import Recipe, preset

Fields = dict[str, Json]
"""What a run was asked to be: ``{"recipe": "ftt", "p": 0.25, "data.core_noise": 0.2}``."""

NAMES = ("dataset", "recipe", "p", "freeze", "method", "join", "backbone", "budget", "protocol", "seed")
BUDGETS = ("cpu", "paper")
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


def compose(given: Fields) -> Spec:
    """The Spec of what was asked for; a field that nothing has is refused."""
    if "dataset" not in given:
        raise FttError("a run of the sweep names no data set", allowed='dataset = "digits"', hint="ftt ls datasets")
    source, parts = registry.DATASETS.get(_word(given, "dataset")), _parts(given)
    options = _by_role(given, _roles(source, parts))
    budget, protocol = _word(given, "budget", BUDGETS[0]), _word(given, "protocol", "paper")
    if budget not in BUDGETS:
        raise unknown("budget", budget, BUDGETS)
    if protocol not in PROTOCOLS:
        raise unknown("protocol", protocol, PROTOCOLS)
    seed = given.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise FttError("seed is no whole number", given=repr(seed), allowed="0 <= seed")
    # As in `ftt run`: one seed for the noise and for the training, unless the data's own is given.
    seeded = {"seed": seed} if any(field.name == "seed" for field in source.params()) else {}
    data = source.from_options({**seeded, **options["data"]})
    training, backbone, published = source.default_training, data.backbone(), {}
    if budget == "paper" and parts.method is not None:
        setting = paper_setting(data.name, parts.method.name)
        training, backbone, published = training.replace(**setting.training), setting.backbone, dict(setting.method)
    recipe = Recipe(
        parts.freeze.replace(**options["freeze"]) if parts.freeze else None,
        parts.method.replace(**{**published, **options["method"]}) if parts.method else None,
        parts.join,
    ).normal()
    backbone = _word(given, "backbone") or backbone
    # A backbone that does not exist is better told before anything runs.
    registry.BACKBONES.get(backbone)
    return Spec(
        data=data,
        backbone=backbone,
        freeze=recipe.freeze,
        method=recipe.method,
        join=recipe.join,
        train=training.replace(**options["train"]),
        probe=Probing.from_options({**PROTOCOLS[protocol], **options["probe"]}),
        seed=seed,
    )


def _parts(given: Fields) -> Recipe:
    """Freezer and method before p says which of them is left: a sweep over p sets their parameters for every p."""
    chosen = {name: _word(given, name) or None for name in ("freeze", "method", "join")}
    recipe, p = _word(given, "recipe", "ftt"), given.get("p")
    preset(recipe, p=p, **chosen)  # Refuses a p that has no meaning.
    parts = preset(recipe, p=None if p is None else 0.5, **chosen)
    return replace(parts, freeze=parts.freeze.replace(p=p)) if parts.freeze and p is not None else parts


def _roles(source: type[Configurable], parts: Recipe) -> dict[str, type[Configurable]]:
    """Whose parameters may be set, by the first part of a dotted name."""
    roles: dict[str, type[Configurable]] = {"data": source, "train": Training, "probe": Probing}
    if parts.freeze is not None:
        roles["freeze"] = type(parts.freeze)
    if parts.method is not None:
        roles["method"] = type(parts.method)
    return roles


def _by_role(given: Fields, roles: Mapping[str, type[Configurable]]) -> dict[str, Fields]:
    known = {f"{role}.{field.name}" for role, owner in roles.items() for field in owner.params()}
    options: dict[str, Fields] = {role: {} for role in ("data", "train", "probe", "freeze", "method")}
    for name, value in given.items():
        if name in NAMES:
            continue
        if name not in known:
            raise unknown("field of a run", name, {*known, *NAMES})
        role, _, field = name.partition(".")
        options[role][field] = value
    return options


def _word(given: Fields, name: str, default: str = "") -> str:
    value = given.get(name, default)
    if not isinstance(value, str):
        raise FttError(f"{name} of a sweep is a name", given=repr(value), allowed=f'{name} = "…"')
    return value


def _table(text: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    table = text.get(name, {})
    if not isinstance(table, Mapping):
        raise FttError(f"{name} of a sweep is no table", given=repr(table)[:80], allowed=f"[{name}]")
    return table
