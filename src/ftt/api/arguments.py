"""What every front door takes: a home, paths, names and resources, in the forms that people pass them in."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ftt.caching import Cache, NoCache
from ftt.errors import FttError
from ftt.launch import Resources
from ftt.store import ArtifactStore, Home

Folder = Home | Path | str | None
"""Where runs and artifacts are kept: a `Home`, a folder, or None for ``FTT_HOME``."""

Names = str | Sequence[str]


def as_home(folder: Folder) -> Home:
    """The home in a folder, by default that of the environment."""
    return folder if isinstance(folder, Home) else Home.from_environment(folder and as_path("home", folder))


def as_cache(cache: Cache | Path | str | None) -> Cache:
    if cache is None:
        return NoCache()
    if isinstance(cache, str | PathLike) or not hasattr(cache, "keep_rows"):
        return ArtifactStore(as_path("cache", cache))
    return cache


def as_resources(resources: Any) -> Resources:
    if not isinstance(resources, Resources):
        raise FttError("resources must be Resources", given=repr(resources)[:80], allowed="ftt.Resources(workers=2)")
    return resources


def as_names(name: str, given: Any) -> Sequence[str]:
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Sequence):
        raise FttError(f"{name} must be one or more columns", given=repr(given)[:80], allowed=f'{name}=["recipe", "p"]')
    return given


def as_path(name: str, value: Any) -> Path:
    if not isinstance(value, str | PathLike):
        raise FttError(f"{name} must be a path", given=repr(value)[:80], allowed=f'{name}="folder"')
    return Path(value)
