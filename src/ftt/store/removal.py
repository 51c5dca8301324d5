"""Removing runs, and artifacts and checkpoints that no run needs. What another process works on stays."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from ftt.errors import FttError
from ftt.params import Json
from ftt.store.home import Home
from ftt.store.used import NAME, used_by

CLOCKS = 5.0
"""Seconds by which the clock of a disk may differ from that of this machine."""


@dataclass
class Removed:
    """What was removed, or would be.

    Attributes
    ----------
    runs : list of str
        Ids of runs.
    files : list of (str, Path, int)
        Stage ("checkpoints" for checkpoints), path and bytes of every file.
    busy : list of Path
        What stayed because another process works on it.
    unsure : int
        Files that stayed because an older run, which did not write down what it used, may need them.
    """

    runs: list[str] = field(default_factory=list)
    files: list[tuple[str, Path, int]] = field(default_factory=list)
    busy: list[Path] = field(default_factory=list)
    unsure: int = 0

    @property
    def bytes(self) -> int:
        return sum(size for _, _, size in self.files)

    def add(self, other: Removed) -> None:
        """Count what was removed in another step too."""
        self.runs += other.runs
        self.files += other.files
        self.busy += other.busy
        self.unsure += other.unsure

    def to_json(self) -> dict[str, Json]:
        return {
            "runs": list(self.runs),
            "files": [{"stage": stage, "path": str(path), "bytes": size} for stage, path, size in self.files],
            "bytes": self.bytes,
            "busy": [str(path) for path in self.busy],
            "unsure": self.unsure,
        }


def find_run(home: Home, prefix: str) -> Path:
    """The folder of the run whose id starts like this."""
    found = [folder for folder in sorted(home.runs.root.glob("*/")) if prefix and folder.name.startswith(prefix)]
    if len(found) == 1:
        return found[0]
    raise FttError(
        f"several runs start with {prefix!r}" if found else f"there is no run {prefix!r}",
        given=", ".join(folder.name for folder in found[:5]) if found else prefix,
        allowed="the id of one run, or its beginning",
        hint="ftt status lists the runs",
    )


def remove_runs(folders: Sequence[Path], *, dry_run: bool = False) -> Removed:
    """Remove the folders of runs: results, logs and settings. Their artifacts stay until they are unused."""
    removed = Removed()
    for folder in folders:
        lock = FileLock(folder / "running.lock", timeout=0)
        try:
            with lock:
                removed.files += [("runs", path, path.stat().st_size) for path in folder.rglob("*") if path.is_file()]
                removed.runs.append(folder.name)
                if not dry_run:
                    shutil.rmtree(folder)
        except Timeout:
            removed.busy.append(folder)
    return removed


def remove_unused(home: Home, *, without: Sequence[str] = (), dry_run: bool = False) -> Removed:
    """Remove artifacts and checkpoints that no run needs.

    Parameters
    ----------
    without : sequence of str
        Ids of runs that are treated as removed: what a dry run of `remove_runs` would leave unused.
    """
    removed, start = Removed(), time.time()
    needed, unsure_until = _needed(home, without), _last_unrecorded(home, without)
    for stage, path in _candidates(home):
        if needed & {path, path.parent}:
            continue
        if path.stat().st_mtime <= unsure_until:
            removed.unsure += 1
            continue
        try:
            with _locked(home, stage, path):
                # Looked up again under the lock: a run that started meanwhile has written down what it uses.
                if not _needed(home, without, since=start - CLOCKS) & {path, path.parent}:
                    removed.files += [(stage, part, part.stat().st_size) for part in _files(path)]
                    if not dry_run:
                        _remove(path)
        except Timeout:
            removed.busy.append(path)
    return removed


def disk_use(home: Home) -> dict[str, int]:
    """Bytes by stage: artifacts one by one, checkpoints, runs, everything else below the home folder."""
    sizes: dict[str, int] = {}
    for path in home.root.rglob("*"):
        if path.is_file():
            parts = path.relative_to(home.root).parts
            name = f"artifacts, {parts[1]}" if parts[0] == "artifacts" and len(parts) > 2 else parts[0]
            sizes[name] = sizes.get(name, 0) + path.stat().st_size
    return dict(sorted(sizes.items()))


def _candidates(home: Home) -> Iterator[tuple[str, Path]]:
    root = home.artifacts.root
    # A large table is a folder of shards.
    for path in sorted([*root.glob("*/*/*.safetensors"), *root.glob("*/*/*/*.safetensors")]):
        yield path.relative_to(root).parts[0], path
    for folder in sorted((home.root / "checkpoints").glob("*/")):
        yield "checkpoints", folder


def _needed(home: Home, without: Sequence[str], since: float = 0.0) -> set[Path]:
    """Artifacts and checkpoint folders that runs have written down, at all or since a time."""
    found: set[Path] = set()
    for record in home.runs.root.glob(f"*/{NAME}"):
        folder = record.parent
        if folder.name not in without and record.stat().st_mtime >= since:
            for stage, key in used_by(folder) or ():
                path = home.artifacts.path(stage, key)
                found |= {path, path.with_suffix("")}
                if stage == "trained":
                    found.add(home.checkpoint_folder(key))
    return found


def _last_unrecorded(home: Home, without: Sequence[str]) -> float:
    """When the last run ended that did not write down what it used: it may need whatever is older.

    One that has not ended may need everything.
    """
    ends = [0.0]
    for folder in home.runs.root.glob("*/"):
        if folder.name in without or used_by(folder) is not None or not (folder / "spec.json").is_file():
            continue
        result = folder / "result.json"
        ends.append(result.stat().st_mtime if result.is_file() else math.inf)
    return max(ends)


def _locked(home: Home, stage: str, path: Path) -> AbstractContextManager[object]:
    """The lock that whoever makes this artifact, or trains from this checkpoint, holds."""
    if stage != "checkpoints":
        return FileLock(path.with_suffix(".lock"), timeout=0)
    trainings = (home.artifacts.root / "trained").glob(f"*/{path.name}*.lock")
    return next((FileLock(lock, timeout=0) for lock in trainings), nullcontext())


def _files(path: Path) -> list[Path]:
    return [part for part in path.rglob("*") if part.is_file()] if path.is_dir() else [path]


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
