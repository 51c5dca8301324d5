"""Flags that come from parameters: ``--core-noise 0.2`` sets the field ``core_noise`` of the part that has one."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from typing import Any, get_args, get_origin, get_type_hints

from ftt.errors import FttError
from ftt.params import Configurable, describe_range, kind_in_words
from ftt.runs.compose import Fields, Owners, as_flag, resolve

BOOLEANS = {"true": True, "false": False}
RUN = ("seed", "seeds")
"""Flags of the run itself; parameters of these names are written in full."""


def parse(arguments: Sequence[str], owners: Owners) -> Fields:
    """Extra arguments of a command as values by full name: ``{"data.core_noise": 0.2}``.

    A switch is written ``--scale`` or ``--no-scale``; ``--scale false`` works too.
    """
    found: Fields = {}
    words = list(arguments)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            raise FttError("expected a flag, found a value", given=word, allowed="--name value")
        flag, has_value, value = word[2:].partition("=")
        name, negated = _find(flag, owners)
        role, _, field = name.partition(".")
        kind = get_type_hints(owners[role])[field]
        if name in found:
            raise FttError(f"--{flag} is given twice", given=word, allowed="each flag once")
        if negated and has_value:
            raise FttError(f"--{flag} takes no value", given=word, allowed=f"--{flag}, or --{flag[3:]}={value}")
        if kind is bool and not has_value:
            given = words.pop(0).lower() if words and words[0].lower() in BOOLEANS and not negated else "true"
            found[name] = BOOLEANS[given] is not negated
            continue
        if not has_value:
            if not words:
                raise FttError(f"--{flag} needs a value", given="nothing", allowed=kind_in_words(kind))
            value = words.pop(0)
        found[name] = convert(flag, value, kind)
    return found


def _find(flag: str, owners: Owners) -> tuple[str, bool]:
    """The full name of a flag, and whether it is the negated form of a switch."""
    if flag.startswith("no-"):
        try:
            name = resolve(flag[3:], owners)
        except FttError:
            return resolve(flag, owners), False
        role, _, field = name.partition(".")
        if get_type_hints(owners[role])[field] is bool:
            return name, True
    return resolve(flag, owners), False


def convert(flag: str, text: str, kind: Any) -> Any:
    """The value of a flag in the type of its field."""
    kinds = [k for k in (get_args(kind) if isinstance(kind, types.UnionType) else (kind,)) if k is not type(None)]
    first = kinds[0]
    try:
        if get_origin(first) is tuple:
            return tuple(float(part) for part in text.split(","))
        if first is bool:
            return BOOLEANS[text.lower()]
        # Python refuses to convert thousands of digits, which are a mistake anyway.
        return first(text)
    except (ValueError, KeyError):
        shown = text if len(text) <= 60 else f"{text[:60]}… ({len(text)} characters)"
        raise FttError(f"--{flag} expects {kind_in_words(first)}", given=shown, allowed=kind_in_words(kind)) from None


def rows(owners: Owners, usual: Mapping[str, Configurable]) -> list[tuple[str, str, str, str]]:
    """(flag, default, range, help) of everything that can be set; a name that two parts have is written in full.

    `usual` holds the parts as they are without flags; what it lacks has the default of its class.
    """
    fields = [(role, field) for role, owner in owners.items() for field in owner.params()]
    names = [field.name for _, field in fields]
    return [
        (
            as_flag(field.name if names.count(field.name) == 1 and field.name not in RUN else f"{role}.{field.name}"),
            str(getattr(usual[role], field.name))
            if role in usual
            else "required"
            if field.default is MISSING
            else str(field.default),
            describe_range(field),
            str(field.metadata.get("help", "")),
        )
        for role, field in fields
        # `--p` is a name of its own.
        if (role, field.name) != ("freeze", "p")
    ]
