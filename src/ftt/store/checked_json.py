"""JSON files that are written whole and carry a checksum, so that damage is noticed when they are read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ftt.atomic import replacing
from ftt.checked import DamagedError
from ftt.params import Json, digest

CHECKSUM = "sha256"


def write_json(path: Path, content: Json) -> None:
    """Write a JSON file atomically."""
    with replacing(path) as scratch:
        scratch.write_text(json.dumps(content, indent=2, sort_keys=True), encoding="utf-8")


def write_checked(path: Path, content: Mapping[str, Json]) -> None:
    """Write an object with the checksum of its content."""
    write_json(path, {**content, CHECKSUM: digest(content)})


def read_checked(path: Path) -> dict[str, Any]:
    """The object in a file; `DamagedError` says why it cannot be trusted."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        stored = content.pop(CHECKSUM)
        computed = digest(content)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, OSError) as error:
        raise DamagedError(f"{type(error).__name__}: {error}") from None
    if computed != stored:
        raise DamagedError("its checksum is wrong")
    return dict(content)
