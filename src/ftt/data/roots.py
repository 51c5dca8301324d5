"""Where data may be: folders the user placed, and the cache of what was fetched."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ftt.errors import FttError


def expanded(path: Path | str, name: str = "home") -> Path:
    """The path with ``~`` and ``~user`` replaced; `name` is the argument it was given for."""
    if not isinstance(path, str | os.PathLike):
        raise FttError(f"{name} must be a path", given=repr(path)[:80], allowed=f'{name}="folder"')
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise FttError("the home folder of this user is not known", given=path, allowed="a path without ~") from None


@dataclass(frozen=True)
class Roots:
    """The two roots a data set may read from.

    Parameters
    ----------
    cache : Path
        What the library fetched (``FTT_CACHE``, default ``~/.cache/ftt``).
    data : Path, optional
        What the user placed, one folder per data set (``FTT_DATA``).
    """

    cache: Path
    data: Path | None

    @classmethod
    def from_environment(cls, cache: Path | None = None, data: Path | None = None) -> Roots:
        """Arguments first, then the environment, then the defaults."""
        placed = data or (Path(os.environ["FTT_DATA"]) if os.environ.get("FTT_DATA") else None)
        fetched = cache or Path(os.environ.get("FTT_CACHE") or Path.home() / ".cache" / "ftt")
        return cls(cache=expanded(fetched, "cache"), data=expanded(placed, "data") if placed else None)

    def placed(self, *names: str) -> list[Path]:
        """The user's folders of these names that exist."""
        if self.data is None:
            return []
        return [self.data / name for name in names if (self.data / name).is_dir()]
