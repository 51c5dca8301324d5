"""Parameters declared once: default, range and one line of help live in the dataclass field.

Data sets, freezers, methods, training and probing are all frozen dataclasses made of such fields.
Validation, command-line flags, documentation and the hash of a run are read from them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

from ftt.errors import FttError, unknown

Json = Any
"""Whatever `json.dumps` accepts; a recursive alias would buy no checking here."""


def param(
    default: Any = MISSING,
    *,
    help: str,
    low: float | None = None,
    high: float | None = None,
    open_low: bool = False,
    choices: Sequence[str] | None = None,
    added: bool = False,
) -> Any:
    """A dataclass field that knows its range and its one line of help.

    Parameters
    ----------
    default : object, optional
        The default value; without one the parameter is required.
    help : str
        One line for `--help` and the documentation.
    low, high : float, optional
        Inclusive limits; `open_low` makes the lower one exclusive.
    choices : sequence of str, optional
        The accepted words.
    added : bool
        Whether the parameter came after results were stored: at its default, which does what was done before, it is
        no part of the hash, so these results stay valid.
    """
    metadata = {"help": help, "low": low, "high": high, "open_low": open_low, "choices": choices, "added": added}
    return field(default=default, metadata=metadata)


def describe_range(spec: Field[Any]) -> str:
    """The allowed values of one field in words: ``0 < lr``, ``0 <= p <= 1``, ``a, b or c``."""
    meta = spec.metadata
    if meta.get("choices"):
        return ", ".join(meta["choices"])
    low, high = meta.get("low"), meta.get("high")
    left = "" if low is None else f"{low:g} {'<' if meta.get('open_low') else '<='} "
    right = "" if high is None else f" <= {high:g}"
    return f"{left}{spec.name}{right}"


@dataclass(frozen=True)
class Configurable:
    """A named, validated, hashable choice: the base of everything a run is described by."""

    name: ClassVar[str] = ""

    def __post_init__(self) -> None:
        kinds = get_type_hints(type(self))
        for spec in dataclasses.fields(self):
            value = _coerce(type(self), spec, kinds[spec.name], getattr(self, spec.name))
            object.__setattr__(self, spec.name, value)

    @classmethod
    def params(cls) -> Iterator[Field[Any]]:
        """The declared fields, in order."""
        yield from dataclasses.fields(cls)

    @classmethod
    def from_options(cls, options: Mapping[str, Json]) -> Self:
        """Build from a mapping, refusing names that are not parameters."""
        known = {spec.name for spec in cls.params()}
        for option in options:
            if option not in known:
                raise unknown(f"parameter of {cls.name!r}", option, known)
        missing = [s.name for s in cls.params() if s.default is MISSING and s.name not in options]
        if missing:
            raise FttError(
                f"{cls.name!r} needs {', '.join(missing)}",
                given=", ".join(options) or "no options",
                allowed=", ".join(sorted(known)),
            )
        return cls(**options)

    def describe(self) -> dict[str, Json]:
        """Name and every parameter as plain JSON values."""
        values = {spec.name: _plain(getattr(self, spec.name)) for spec in self.params()}
        return {"name": self.name, **values}

    def identity(self) -> dict[str, Json]:
        """What the hash of a run is made of: all of `describe` but the defaults of parameters that were added later.

        Data sets overrule it where content counts, not a path.
        """
        unchanged = {
            spec.name
            for spec in self.params()
            if spec.metadata.get("added") and getattr(self, spec.name) == spec.default
        }
        return {key: value for key, value in self.describe().items() if key not in unchanged}

    def replace(self, **changes: Json) -> Self:
        """A copy with some parameters changed, validated again."""
        current = {spec.name: getattr(self, spec.name) for spec in self.params()}
        return self.from_options({**current, **changes})


def _coerce(owner: type[Configurable], spec: Field[Any], kind: Any, value: Any) -> Any:
    """Check one value against its declared type and range; whole numbers become floats where floats are meant."""
    allowed_kinds = get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if value is None:
        if type(None) in allowed_kinds:
            return None
        raise _wrong(owner, spec, value)
    if any(get_origin(k) is tuple for k in allowed_kinds):
        return _coerce_tuple(owner, spec, value)
    if isinstance(value, bool) and bool not in allowed_kinds:
        raise _wrong(owner, spec, value)
    if float in allowed_kinds and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    plain_kinds = tuple(k for k in allowed_kinds if isinstance(k, type))
    if plain_kinds and not isinstance(value, plain_kinds):
        raise _wrong(owner, spec, value)
    meta = spec.metadata
    if meta.get("choices") and value not in meta["choices"]:
        raise unknown(f"{spec.name} of {owner.name!r}", value, meta["choices"])
    if isinstance(value, int | float) and not isinstance(value, bool):
        _check_range(owner, spec, value)
    return value


def _coerce_tuple(owner: type[Configurable], spec: Field[Any], value: Any) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _wrong(owner, spec, value)
    for item in value:
        if isinstance(item, int | float):
            _check_range(owner, spec, item)
    return tuple(value)


def _check_range(owner: type[Configurable], spec: Field[Any], value: float) -> None:
    low, high = spec.metadata.get("low"), spec.metadata.get("high")
    below = low is not None and (value <= low if spec.metadata.get("open_low") else value < low)
    above = high is not None and value > high
    if not math.isfinite(value) or below or above:
        raise _wrong(owner, spec, value)


def _wrong(owner: type[Configurable], spec: Field[Any], value: Any) -> FttError:
    return FttError(
        f"{spec.name} of {owner.name!r} is outside what is allowed ({spec.metadata.get('help', spec.name)})",
        given=repr(value),
        allowed=f"{describe_range(spec)} (type {spec.type})",
    )


def _plain(value: Any) -> Json:
    if isinstance(value, Configurable):
        return value.describe()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def canonical(value: Json) -> str:
    """The one JSON text of a value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def digest(*values: Json) -> str:
    """SHA-256 (hex) of the canonical JSON of the values."""
    return hashlib.sha256(canonical(list(values)).encode()).hexdigest()
