"""From names to a Spec: what `ftt run` gets as flags, a sweep from its file and `ftt.run` as keywords."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ftt import registry
from ftt.errors import FttError, unknown
from ftt.params import Configurable, Options
from ftt.recipe import Recipe, parts
from ftt.settings import Changes, setting
from ftt.spec import PROTOCOLS, Probing, Spec, Training

Fields = dict[str, Any]
"""What a run is asked to be: ``{"recipe": "ftt", "p": 0.25, "core_noise": 0.2, "train.epochs": 2}``."""

Owners = Mapping[str, type[Configurable]]
"""Whose parameters may be set, by role: the first part of a dotted name."""

NAMES = ("dataset", "recipe", "p", "freeze", "method", "join", "backbone", "weights", "budget", "protocol", "seed")
ROLES = ("data", "train", "probe", "freeze", "method")
SAME = {"freeze.name": "freeze", "method.name": "method", "freeze.p": "p"}
"""Two ways of writing the same field."""


def compose(given: Options) -> Spec:
    """The Spec of what was asked for; a name that nothing has, or that two parts have, is refused.

    Examples
    --------
    >>> spec = compose({"dataset": "digits", "recipe": "ftt", "p": 0.5, "core_noise": 0.2})
    >>> spec.recipe.freeze.p, spec.data.core_noise
    (0.5, 0.2)
    """
    owners = owners_of(given)
    options: dict[str, Fields] = {role: {} for role in (*ROLES, *owners)}
    for name, value in given.items():
        if name not in NAMES:
            role, _, field = resolve(name, owners).partition(".")
            if field in options[role] or ((full := f"{role}.{field}") in SAME and SAME[full] in given):
                raise FttError(
                    f"{field} is given twice",
                    given=f"{SAME.get(f'{role}.{field}', field)} and {name}",
                    allowed=f"one of {as_flag(SAME.get(f'{role}.{field}', field))} and {as_flag(f'{role}.{field}')}",
                )
            options[role][field] = value
    protocol = _word(given, "protocol", "paper")
    if protocol not in PROTOCOLS:
        raise unknown("protocol", protocol, PROTOCOLS)
    options["probe"] = {**PROTOCOLS[protocol], **options["probe"]}
    chosen = setting(_word(given, "dataset"), _word(given, "budget", "cpu"))
    recipe = _parts(given)
    sources = tuple(source.replace(**options[source_role(source)]) for source in recipe.sources)
    changes = Changes(backbone=_backbone(given, chosen.backbone), **{role: options[role] for role in ROLES})
    return chosen.spec(replace(recipe, sources=sources), seed=given.get("seed", 0), changes=changes)


def owners_of(given: Options) -> dict[str, type[Configurable]]:
    """Whose parameters the chosen data set, freezer and method let one set."""
    if "dataset" not in given:
        raise FttError("a run needs a data set", given="none", allowed='dataset = "digits"', hint="ftt ls datasets")
    recipe = _parts(given)
    # At some budgets another data set stands in.
    stands_in = setting(_word(given, "dataset"), _word(given, "budget", "cpu")).data["name"]
    found: dict[str, type[Configurable]] = {
        "data": registry.DATASETS.get(stands_in),
        "train": Training,
        "probe": Probing,
    }
    if recipe.freeze is not None:
        found["freeze"] = type(recipe.freeze)
    if recipe.method is not None:
        found["method"] = type(recipe.method)
    return found | {source_role(source): type(source) for source in recipe.sources}


def source_role(source: Configurable) -> str:
    """The first part of the full names of a source's parameters: ``two_teachers.rounds``."""
    return str(source.name).replace("-", "_")


def resolve(name: str, owners: Owners) -> str:
    """The full name of a parameter: ``core_noise`` is ``data.core_noise``, ``probe_seeds`` is ``probe.seeds``.

    Examples
    --------
    >>> resolve("epochs", {"train": Training, "probe": Probing})
    'train.epochs'
    """
    fields = {role: {field.name for field in owner.params()} for role, owner in owners.items()}
    plain = name.replace("-", "_")
    full = [f"{role}.{plain}" for role, known in fields.items() if plain in known]
    if len(full) > 1 or plain in ("seed", "seeds"):
        flags = " or ".join(as_flag(one) for one in full)
        raise FttError(f"{name!r} is ambiguous", given=name, allowed=flags, hint=f"write {flags}")
    for role, known in fields.items():
        for separator in (".", "_"):
            head, _, rest = plain.partition(separator)
            if head == role and rest in known:
                full.append(f"{role}.{rest}")
    if not full:
        known_names = {field for known in fields.values() for field in known} | set(NAMES)
        if "." in name:
            known_names = {f"{role}.{field}" for role, known in fields.items() for field in known}
        # Suggested in the way of writing that was used: dashes on the command line.
        written = (known.replace("_", "-") if "-" in name else known for known in known_names)
        raise unknown("parameter", name, written, hint="ftt run DATASET --flags lists all parameters")
    return full[0]


def as_flag(name: str) -> str:
    """How a parameter is written on the command line.

    Examples
    --------
    >>> as_flag("data.core_noise")
    '--data.core-noise'
    """
    return "--" + name.replace("_", "-")


def _parts(given: Options) -> Recipe:
    """Freezer and method before p decides which of them are left: their parameters can be set for every p."""
    recipe, p = given.get("recipe", "ftt"), given.get("p")
    chosen = {name: _word(given, name) or None for name in ("freeze", "method", "join")}
    if isinstance(recipe, str):
        return parts(recipe, p=p, **chosen)
    if isinstance(recipe, Recipe) and p is None and not any(chosen.values()):
        return recipe
    raise FttError(
        "a recipe must be a name, or a complete Recipe",
        given=repr(recipe),
        allowed="recipe='ftt' with p, freeze, method, join; or recipe=ftt.Recipe(…) alone",
        hint="ftt ls recipes",
    )


def _backbone(given: Options, usual: str | None) -> str | None:
    """The backbone that is asked for, with its file of weights; None for the one of the settings."""
    name, weights = _word(given, "backbone"), _word(given, "weights")
    if not weights:
        return name or None
    architecture = name or usual or ""
    if not architecture.startswith("timm:") or "@" in architecture:
        raise FttError(
            "a file of weights needs the architecture it belongs to",
            given=f"backbone {architecture or 'none'}, weights {weights}",
            allowed="--backbone timm:<architecture> --weights FILE",
        )
    return f"{architecture}@{Path(weights).expanduser().resolve()}"


def _word(given: Options, name: str, default: str = "") -> str:
    value = given.get(name, default)
    if not isinstance(value, str):
        raise FttError(f"{name} must be a name", given=repr(value), allowed=f'{name} = "…"')
    return value
