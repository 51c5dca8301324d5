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
from numbers import Integral, Real
from os import PathLike, fspath
from typing import Any, ClassVar, Self, TypeAlias, get_args, get_origin, get_type_hints

from ftt.errors import FttError, unknown

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""What `json.dumps` accepts. Text that is read back and not checked yet is `Any`."""

Options: TypeAlias = Mapping[str, Any]
"""Parameters by name as a caller or a file gave them; `Configurable.from_options` checks them."""

LARGEST = 2**63 - 1
"""Integers above this fit neither an array nor a column of results."""


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
        Whether the parameter is younger than stored results. At its default, which does what was done before, it is
        not part of the hash, so that those results stay valid.
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
    def from_options(cls, options: Options) -> Self:
        """Build from a mapping, refusing names that are not parameters."""
        if not isinstance(options, Mapping):
            raise FttError(
                f"parameters of {cls.name!r} must be a table", given=repr(options)[:80], allowed="{parameter: value}"
            )
        options = {name: value for name, value in options.items() if name != "name"}
        known = {spec.name for spec in cls.params()}
        for option in options:
            if option not in known:
                raise unknown(f"parameter of {cls.name!r}", option, known)
        missing = [s.name for s in cls.params() if s.default is MISSING and s.name not in options]
        if missing:
            purpose = {s.name: s.metadata.get("help", "") for s in cls.params()}
            raise FttError(
                f"{cls.name!r} needs {', '.join(missing)}",
                given=", ".join(options) or "no options",
                allowed=", ".join(sorted(known)),
                hint="; ".join(f"set --{name.replace('_', '-')} to the {purpose[name]}" for name in missing),
            )
        return cls(**options)

    def describe(self) -> dict[str, Json]:
        """Name and every parameter as plain JSON values; `from_options` reads it back."""
        values = {spec.name: _plain(getattr(self, spec.name)) for spec in self.params()}
        return {"name": self.name, **values}

    def identity(self) -> dict[str, Json]:
        """What the hash of a run is made of: all of `describe` except defaults of parameters that were added later."""
        unchanged = {
            spec.name
            for spec in self.params()
            if spec.metadata.get("added") and getattr(self, spec.name) == spec.default
        }
        return {key: value for key, value in self.describe().items() if key not in unchanged}

    def replace(self, **changes: Any) -> Self:
        """A copy with some parameters changed, validated again."""
        current = {spec.name: getattr(self, spec.name) for spec in self.params()}
        return self.from_options({**current, **changes})


def _coerce(owner: type[Configurable], spec: Field[Any], kind: Any, value: Any) -> Any:
    """The value in its declared type and range; NumPy numbers, paths and integers for floats are converted."""
    kinds = get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if value is None:
        if type(None) in kinds:
            return None
        raise _wrong(owner, spec, kind, value)
    for item in (k for k in kinds if get_origin(k) is tuple):
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise _wrong(owner, spec, kind, value)
        return tuple(_coerce(owner, spec, get_args(item)[0], part) for part in value)
    value = _python(value, kinds)
    if not any(_is(value, k) for k in kinds):
        raise _wrong(owner, spec, kind, value)
    if spec.metadata.get("choices") and value not in spec.metadata["choices"]:
        raise unknown(f"{spec.name} of {owner.name!r}", value, spec.metadata["choices"])
    if isinstance(value, int | float) and not isinstance(value, bool) and not _in_range(spec, value):
        raise _wrong(owner, spec, kind, value)
    return value


def _python(value: Any, kinds: Sequence[Any]) -> Any:
    """Numbers of other libraries and paths as plain Python values, where such a value is meant."""
    if isinstance(value, PathLike) and str in kinds:
        return fspath(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        value = int(value)
        # One number has one hash: 1 and 1.0 are the same learning rate. Too large a number stays what it is.
        return float(value) if float in kinds and abs(value) <= LARGEST else value
    return float(value) if isinstance(value, Real) else value


def _is(value: Any, kind: Any) -> bool:
    return isinstance(kind, type) and isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _in_range(spec: Field[Any], value: float) -> bool:
    low, high = spec.metadata.get("low"), spec.metadata.get("high")
    if isinstance(value, int):
        high = LARGEST if high is None else high
    elif not math.isfinite(value):
        return False
    above = low is None or (value > low if spec.metadata.get("open_low") else value >= low)
    return above and (high is None or value <= high)


def _wrong(owner: type[Configurable], spec: Field[Any], kind: Any, value: Any) -> FttError:
    shown = repr(value)
    return FttError(
        f"invalid {spec.name} of {owner.name!r} ({spec.metadata.get('help', spec.name)})",
        given=shown if len(shown) <= 80 else f"{shown[:60]}… ({len(shown)} characters)",
        allowed=f"{kind_in_words(kind)}: {describe_range(spec)}",
    )


def kind_in_words(kind: Any) -> str:
    """A declared type as people say it.

    Examples
    --------
    >>> kind_in_words(int | None), kind_in_words(tuple[float, ...])
    ('an integer or nothing', 'a list of numbers')
    """
    if isinstance(kind, types.UnionType):
        return " or ".join(kind_in_words(part) for part in get_args(kind))
    if get_origin(kind) is tuple:
        return "a list of numbers"
    words = {int: "an integer", float: "a number", bool: "true or false", str: "text", type(None): "nothing"}
    return words.get(kind, getattr(kind, "__name__", str(kind)))


def _plain(value: Any) -> Json:
    if isinstance(value, Configurable):
        return value.describe()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    plain: Json = value
    return plain


def canonical(value: Json) -> str:
    """The one JSON text of a value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def digest(*values: Json) -> str:
    """SHA-256 (hex) of the canonical JSON of the values."""
    return hashlib.sha256(canonical(list(values)).encode()).hexdigest()
