"""From names to a Spec: what `ftt run` is told by flags and a sweep by its file is put together in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

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


def compose(given: Fields) -> Spec:
    """The Spec of what was asked for; a field that nothing has is refused."""
    if "dataset" not in given:
        raise FttError("a run names no data set", allowed='dataset = "digits"', hint="ftt ls datasets")
    source, parts = registry.DATASETS.get(_word(given, "dataset")), _parts(given)
    options = _by_role(given, roles(given))
    budget, protocol = _word(given, "budget", BUDGETS[0]), _word(given, "protocol", "paper")
    if budget not in BUDGETS:
        raise unknown("budget", budget, BUDGETS)
    if protocol not in PROTOCOLS:
        raise unknown("protocol", protocol, PROTOCOLS)
    seed = given.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise FttError("seed is no whole number", given=repr(seed), allowed="0 <= seed")
    # One seed for the noise and for the training, unless the data's own is given.
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
    """Freezer and method before p says which of them is left: one may set their parameters for every p."""
    chosen = {name: _word(given, name) or None for name in ("freeze", "method", "join")}
    recipe, p = _word(given, "recipe", "ftt"), given.get("p")
    preset(recipe, p=p, **chosen)  # Refuses a p that has no meaning.
    parts = preset(recipe, p=None if p is None else 0.5, **chosen)
    return replace(parts, freeze=parts.freeze.replace(p=p)) if parts.freeze and p is not None else parts


def roles(given: Fields) -> dict[str, type[Configurable]]:
    """Whose parameters may be set, by the first part of a dotted name."""
    parts = _parts(given)
    found: dict[str, type[Configurable]] = {
        "data": registry.DATASETS.get(_word(given, "dataset")),
        "train": Training,
        "probe": Probing,
    }
    if parts.method is not None:
        found["method"] = type(parts.method)
    if parts.freeze is not None:
        found["freeze"] = type(parts.freeze)
    return found


def _by_role(given: Fields, owners: Mapping[str, type[Configurable]]) -> dict[str, Fields]:
    known = {f"{role}.{field.name}" for role, owner in owners.items() for field in owner.params()}
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
        raise FttError(f"{name} of a run is a name", given=repr(value), allowed=f'{name} = "…"')
    return value
