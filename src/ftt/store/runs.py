"""Results of runs: one JSON file each, written atomically, found by key."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

from filelock import FileLock, Timeout

from ftt.atomic import replacing
from ftt.params import Json
from ftt.progress import say
from ftt.spec import Spec


class RunStore:
    """One folder per run: ``spec.json`` from its start on, then ``result.json``, or ``failed.json`` if it failed."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, spec: Spec) -> Path:
        return self.root / spec.run_id

    def find(self, spec: Spec) -> dict[str, Json] | None:
        """The result of this very Spec, if it was run before."""
        path = self.folder(spec) / "result.json"
        if not path.is_file():
            return None
        try:
            result: dict[str, Json] = json.loads(path.read_text())
            return result if result["key"] == spec.key else None
        except (ValueError, KeyError, TypeError) as error:
            say(f"a stored result is damaged and the run is done again: {path} ({error})")
            return None

    def begin(self, spec: Spec) -> FileLock:
        """Note that the run was asked for; the lock says whether somebody is at it."""
        self._note(spec)
        (self.folder(spec) / "failed.json").unlink(missing_ok=True)
        return FileLock(self.folder(spec) / "running.lock")

    def finish(self, spec: Spec, result: dict[str, Json]) -> None:
        write_json(self.folder(spec) / "result.json", result)
        (self.folder(spec) / "failed.json").unlink(missing_ok=True)

    def fail(self, spec: Spec, error: str, traceback: str = "", attempts: int = 1) -> Path:
        """Keep why a run failed until it is begun again; returns the file that says so."""
        self._note(spec)
        when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        path = self.folder(spec) / "failed.json"
        write_json(path, {"error": error, "traceback": traceback, "when": when, "attempts": attempts})
        return path

    def _note(self, spec: Spec) -> None:
        write_json(self.folder(spec) / "spec.json", {"key": spec.key, "spec": spec.describe()})

    def write_log(self, spec: Spec, log: list[dict[str, Json]]) -> None:
        """The training log so far as JSON lines, for whoever watches."""
        with replacing(self.folder(spec) / "train.jsonl") as scratch:
            scratch.write_text("".join(json.dumps(record, sort_keys=True) + "\n" for record in log))

    def state(self, spec: Spec) -> str:
        """The state of one run; one that was never begun is pending."""
        folder = self.folder(spec)
        return _state(folder) if (folder / "spec.json").is_file() else "pending"

    def states(self) -> list[dict[str, Json]]:
        """Every run by state: done, running, failed or stopped (started, not finished, nobody at it)."""
        rows = []
        for path in sorted(self.root.glob("*/spec.json")):
            spec = json.loads(path.read_text())["spec"]
            rows.append({"run_id": path.parent.name, "state": _state(path.parent), "spec": spec})
        return rows


def _state(folder: Path) -> str:
    if (folder / "result.json").is_file():
        return "done"
    try:
        with FileLock(folder / "running.lock", timeout=0):
            return "failed" if (folder / "failed.json").is_file() else "stopped"
    except Timeout:
        return "running"


def write_json(path: Path, content: Json) -> None:
    """Write a JSON file atomically."""
    with replacing(path) as scratch:
        scratch.write_text(json.dumps(content, indent=2, sort_keys=True))
