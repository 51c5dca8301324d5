"""Flags that come from parameters: ``--core-noise 0.2`` sets the field ``core_noise`` of whatever has one."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field
from typing import Any, get_args, get_origin, get_type_hints

from ftt.errors import FttError, unknown
from ftt.params import Configurable, Json, describe_range

Sources = Mapping[str, type[Configurable]]
"""What may be set on a command line, by role: "data", "train", …"""


def parse(arguments: Sequence[str], sources: Sources) -> dict[str, dict[str, Json]]:
    """Extra arguments of a command as options by role; a flag is looked up in the roles in order."""
    options: dict[str, dict[str, Json]] = {role: {} for role in sources}
    words = list(arguments)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            raise FttError("a value stands where a flag is expected", given=word, allowed="--name value")
        flag, has_value, value = word[2:].partition("=")
        role, field = find(flag, sources)
        kind = get_type_hints(sources[role])[field.name]
        if kind is bool and not has_value:
            options[role][field.name] = True
            continue
        if not has_value:
            if not words:
                raise FttError(f"--{flag} needs a value", given="nothing", allowed=describe_range(field))
            value = words.pop(0)
        options[role][field.name] = convert(flag, value, kind)
    return options


def find(flag: str, sources: Sources) -> tuple[str, Field[Any]]:
    """The role and field a flag names; ``--probe-seed`` names ``seed`` of the role "probe"."""
    for role, owner in sources.items():
        for field in dataclasses.fields(owner):
            if flag in (as_flag(field.name), f"{role}-{as_flag(field.name)}"):
                return role, field
    known = [as_flag(field.name) for owner in sources.values() for field in dataclasses.fields(owner)]
    raise unknown("flag", flag, set(known), hint="ftt run DATASET --flags lists them with their ranges")


def as_flag(name: str) -> str:
    return name.replace("_", "-")


def convert(flag: str, text: str, kind: Any) -> Json:
    """The value of a flag in the type of its field."""
    kinds = [k for k in (get_args(kind) if isinstance(kind, types.UnionType) else (kind,)) if k is not type(None)]
    first = kinds[0]
    try:
        if get_origin(first) is tuple:
            return tuple(float(part) for part in text.split(","))
        if first is bool:
            return {"true": True, "false": False}[text.lower()]
        return first(text)
    except (ValueError, KeyError):
        raise FttError(
            f"--{flag} is not of its type", given=text, allowed=getattr(first, "__name__", str(first))
        ) from None


def rows(sources: Sources) -> list[tuple[str, str, str, str, str]]:
    """(role, flag, default, range, help) of everything that can be set."""
    return [
        (
            role,
            f"--{as_flag(field.name)}",
            "required" if field.default is MISSING else str(field.default),
            describe_range(field),
            str(field.metadata.get("help", "")),
        )
        for role, owner in sources.items()
        for field in dataclasses.fields(owner)
    ]
