"""The command that makes a run again: from a Spec back to the flags of `ftt run`."""

from __future__ import annotations

import shlex
from typing import Any

from ftt.errors import FttError
from ftt.params import Configurable
from ftt.recipe import PRESETS
from ftt.runs.compose import Fields, as_flag, compose, owners_of, source_role
from ftt.settings import BUDGETS
from ftt.spec import Spec


def command_of(spec: Spec) -> str | None:
    """The shortest call of `ftt run` that has this Spec; None for a recipe that no flags describe.

    Examples
    --------
    >>> spec = compose({"dataset": "digits", "recipe": "erm", "core_noise": 0.2, "epochs": 2})
    >>> command_of(spec)
    'ftt run digits --recipe erm --core-noise 0.2 --epochs 2'
    """
    found = [fields for budget in BUDGETS if (fields := _fields(spec, budget)) is not None]
    if not found:
        return None
    fields = min(found, key=len)
    words = [f"{_flag(name, fields)} {shlex.quote(_written(value))}" for name, value in fields.items()]
    return " ".join(["ftt run", str(spec.data.name), *words[1:]])


def _fields(spec: Spec, budget: str) -> Fields | None:
    """What differs from the settings of a budget; None where it cannot be written in flags."""
    recipe = spec.recipe
    names: Fields = {"dataset": spec.data.name, "recipe": recipe.name}
    if recipe.name not in PRESETS:
        if recipe.freeze is None or recipe.method is None:
            return None
        names |= {"recipe": "ftt", "freeze": recipe.freeze.name, "method": recipe.method.name, "join": recipe.join}
    names |= {"budget": budget} if budget != "cpu" else {}
    names |= {"seed": spec.seed} if spec.seed else {}
    required = {
        f"data.{part.name}": getattr(spec.data, part.name)
        for part in spec.data.params()
        if part.name in spec.data.paths
    }
    names |= {name: value for name, value in required.items() if value is not None}
    try:
        usual = compose(names)
    except FttError:
        return None
    if usual.backbone != spec.backbone:
        names["backbone"] = spec.backbone
    for role, wanted, given in _parts(spec, usual):
        if (wanted is None) != (given is None) or (wanted and given and wanted.name != given.name):
            return None
        if wanted is not None:
            names |= _changes(role, wanted, given)
    try:
        return names if compose(names) == spec else None
    except FttError:
        return None


def _parts(spec: Spec, usual: Spec) -> list[tuple[str, Configurable | None, Any]]:
    sources = zip(spec.recipe.sources, usual.recipe.sources, strict=False)
    return [
        ("data", spec.data, usual.data),
        ("train", spec.train, usual.train),
        ("probe", spec.probe, usual.probe),
        ("freeze", spec.recipe.freeze, usual.recipe.freeze),
        ("method", spec.recipe.method, usual.recipe.method),
        *((source_role(wanted), wanted, given) for wanted, given in sources),
    ]


def _changes(role: str, wanted: Configurable, given: Configurable) -> Fields:
    """Parameters that differ, by full name; p has a name of its own."""
    changed = {}
    for part in wanted.params():
        value = getattr(wanted, part.name)
        if value != getattr(given, part.name):
            changed["p" if (role, part.name) == ("freeze", "p") else f"{role}.{part.name}"] = value
    return changed


def _flag(name: str, fields: Fields) -> str:
    """The short flag where it is unambiguous, else the full one."""
    role, _, short = name.partition(".")
    if not short:
        return as_flag(name)
    named = {key: value for key, value in fields.items() if "." not in key and key != "seed"}
    owners = owners_of(named)
    alone = sum(short in {part.name for part in owner.params()} for owner in owners.values()) == 1
    return as_flag(short if alone and short not in ("seed", "seeds") else f"{role}.{short}")


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)
