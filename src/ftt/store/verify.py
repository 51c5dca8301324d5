"""Every file of a home that is read back, verified; what is damaged can be removed, since it is made again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ftt import checked
from ftt.atomic import sweep
from ftt.data import checksums, decoded
from ftt.params import Json
from ftt.progress import track
from ftt.store.checked_json import read_checked
from ftt.store.home import Home


@dataclass(frozen=True)
class Damage:
    """One file that does not hold what was written."""

    kind: str
    path: Path
    reason: str


@dataclass
class Verified:
    """What a look at every file found: how many of each kind, the damaged ones, and scratch files that were removed."""

    files: Counter[str] = field(default_factory=Counter)
    damage: list[Damage] = field(default_factory=list)
    unfinished: list[Path] = field(default_factory=list)

    def by_kind(self) -> dict[str, int]:
        """Damaged files of every kind that there is."""
        counts = Counter(damage.kind for damage in self.damage)
        return {kind: counts[kind] for kind in self.files}

    def to_json(self) -> dict[str, Json]:
        return {
            "files": dict(self.files),
            "damaged": self.by_kind(),
            "damage": [{"kind": d.kind, "path": str(d.path), "reason": d.reason} for d in self.damage],
            "unfinished": [str(path) for path in self.unfinished],
        }


def verify(home: Home, *, repair: bool = False) -> Verified:
    """Read every file of a home and of its cache as a run would; with `repair` remove what is damaged."""
    found = Verified(unfinished=[*sweep(home.root), *sweep(home.roots.cache)])
    listed = list(_files(home))
    for kind, path, check in track(listed, "verifying", total=len(listed)):
        found.files[kind] += 1
        try:
            check(path)
        except (checked.DamagedError, OSError) as error:
            found.damage.append(Damage(kind, path, str(error)))
            if repair:
                path.unlink(missing_ok=True)
    return found


def _files(home: Home) -> Iterator[tuple[str, Path, Callable[[Path], object]]]:
    """Kind, path and check of every file that is read back."""
    places: tuple[tuple[str, Path, str, Callable[[Path], object]], ...] = (
        ("artifact", home.artifacts.root, "*/*/*.safetensors", checked.load),
        ("artifact", home.artifacts.root, "*/*/*/*.safetensors", checked.load),
        ("result", home.runs.root, "*/result.json", read_checked),
        ("spec", home.runs.root, "*/spec.json", read_checked),
        ("checkpoint", home.root / "checkpoints", "*/*.safetensors", checked.load),
        ("decoded images", home.roots.cache / "decoded", "*/notes.safetensors", decoded.verify),
        ("unpacked arrays", home.roots.cache, "*/arrays.safetensors", checked.load),
        ("checksums", home.roots.cache / "checksums", "*.jsonl", checksums.intact),
    )
    for kind, root, pattern, check in places:
        for path in sorted(root.glob(pattern)):
            yield kind, path, check
