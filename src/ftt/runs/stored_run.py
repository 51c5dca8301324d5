"""One run as it is in the store: its state, settings, result, artifacts, and the command that makes it again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ftt.checked import DamagedError
from ftt.errors import FttError
from ftt.params import Json
from ftt.result import Result
from ftt.runs.command import command_of
from ftt.spec import Spec
from ftt.store import Home
from ftt.store.checked_json import read_checked
from ftt.store.removal import find_run
from ftt.store.runs import state_of
from ftt.store.used import used_by


@dataclass(frozen=True)
class StoredFile:
    """An artifact that the run uses, and its bytes; None if it is not in the store (any more)."""

    stage: str
    key: str
    bytes: int | None


@dataclass(frozen=True)
class StoredRun:
    """What the store knows about a run.

    Attributes
    ----------
    result : Result, optional
        None unless the run is done.
    error : str, optional
        Why it failed.
    artifacts : tuple of StoredFile, optional
        What it uses; None for a run of an older version, which did not write it down.
    command : str, optional
        The call of `ftt run` that makes it again; None for a recipe that no flags describe.
    """

    run_id: str
    folder: Path
    state: str
    spec: Spec
    result: Result | None
    error: str | None
    artifacts: tuple[StoredFile, ...] | None
    command: str | None

    def to_json(self) -> dict[str, Json]:
        return {
            "run_id": self.run_id,
            "folder": str(self.folder),
            "state": self.state,
            "spec": self.spec.describe(),
            "result": self.result.to_json() if self.result else None,
            "error": self.error,
            "artifacts": None if self.artifacts is None else [vars(artifact) for artifact in self.artifacts],
            "command": self.command,
        }


def stored_run(home: Home, prefix: str) -> StoredRun:
    """The run whose id starts like this."""
    folder = find_run(home, prefix)
    try:
        described = read_checked(folder / "spec.json")
    except DamagedError as error:
        raise FttError("the run cannot be read", given=f"{folder} ({error})", hint="ftt doctor --store") from None
    spec, state = Spec.from_description(described["spec"]), state_of(folder)
    result = Result.from_json(read_checked(folder / "result.json")).looked_up() if state == "done" else None
    return StoredRun(
        folder.name, folder, state, spec, result, _error(folder), _artifacts(home, folder), command_of(spec)
    )


def _error(folder: Path) -> str | None:
    path = folder / "failed.json"
    return str(json.loads(path.read_text())["error"]) if path.is_file() else None


def _artifacts(home: Home, folder: Path) -> tuple[StoredFile, ...] | None:
    used = used_by(folder)
    if used is None:
        return None
    found = []
    for stage, key in used:
        files = home.artifacts.files(stage, key)
        found.append(StoredFile(stage, key, sum(path.stat().st_size for path in files) if files else None))
    return tuple(found)
