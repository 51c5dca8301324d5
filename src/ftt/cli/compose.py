"""From the flags of a command to Specs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ftt.cli.flags import parse
from ftt.errors import FttError
from ftt.experiments.compose import Fields, compose, roles
from ftt.spec import Spec


def spec_of(names: Fields, arguments: Sequence[str]) -> Spec:
    """The Spec of what was chosen by name and of the flags that follow."""
    given = parse(arguments, roles(names))
    return compose(
        {**names, **{f"{role}.{field}": v for role, options in given.items() for field, v in options.items()}}
    )


def by_dims(spec: Spec, dims: str | None) -> list[Spec]:
    """The Spec itself, or one for every number of dimensions to probe on."""
    if dims is None:
        return [spec]
    try:
        numbers = [int(part) for part in dims.split(",")]
    except ValueError:
        raise FttError("--probe-dims takes whole numbers", given=dims, allowed="2,4,8,16") from None
    return [replace(spec, probe=spec.probe.replace(dims=number)) for number in numbers]
