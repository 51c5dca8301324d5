"""Results of runs: one folder each, written atomically, found by key, checked when read."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ftt.atomic import replacing
from ftt.checked import DamagedError
from ftt.errors import FttError
from ftt.network import locked
from ftt.params import Json
from ftt.progress import say
from ftt.result import Result
from ftt.spec import FORMAT, Run
from ftt.store.checked_json import read_checked, write_checked, write_json


class RunStore:
    """One folder per run: ``spec.json`` from its start on, then ``result.json``, or ``failed.json`` if it failed."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, run: Run) -> Path:
        return self.root / run.id

    def find(self, run: Run) -> Result | None:
        """The stored result of this run."""
        path = self.folder(run) / "result.json"
        if not path.is_file():
            return None
        try:
            text = read_checked(path)
            return Result.from_json(text).looked_up() if text["key"] == run.key else None
        except (DamagedError, FttError, KeyError, TypeError) as error:
            say(f"a stored result is damaged and the run is repeated: {path} ({error})")
            return None

    def begin(self, run: Run) -> AbstractContextManager[None]:
        """Record that the run was started; the lock tells others that it is in progress."""
        self._record(run)
        (self.folder(run) / "failed.json").unlink(missing_ok=True)
        return locked(self.folder(run) / "running.lock", f"it is at run {run.id}")

    def finish(self, run: Run, result: Result) -> None:
        write_checked(self.folder(run) / "result.json", result.to_json())
        (self.folder(run) / "failed.json").unlink(missing_ok=True)

    def forget(self, run: Run) -> None:
        """Of a run that was refused nothing can be resumed, so it is not listed as stopped."""
        for name in ("spec.json", "train.jsonl"):
            (self.folder(run) / name).unlink(missing_ok=True)

    def fail(self, run: Run, error: str, traceback: str = "", attempts: int = 1) -> Path:
        """Keep why a run failed until it is started again; returns the file that says so."""
        self._record(run)
        when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        path = self.folder(run) / "failed.json"
        write_json(path, {"error": error, "traceback": traceback, "when": when, "attempts": attempts})
        return path

    def _record(self, run: Run) -> None:
        content: dict[str, Json] = {"key": run.key, "recipe": run.spec.recipe.name, "spec": run.spec.describe()}
        write_checked(self.folder(run) / "spec.json", content)

    def write_log(self, run: Run, log: list[dict[str, Any]]) -> None:
        """The training log so far as JSON lines, for whoever watches."""
        with replacing(self.folder(run) / "train.jsonl") as scratch:
            scratch.write_text("".join(json.dumps(record, sort_keys=True) + "\n" for record in log))

    def results(self) -> Iterator[dict[str, Any]]:
        """The written form of every stored result; what cannot be read is reported and skipped."""
        for path in sorted(self.root.glob("*/result.json")):
            try:
                text = read_checked(path)
                if text.get("format") == FORMAT:
                    yield text
                else:
                    say(f"a stored result has an older format and is skipped: {path}")
            except (DamagedError, OSError) as error:
                say(f"a stored result is damaged and is skipped: {path} ({error})")

    def state(self, run: Run) -> str:
        """The state of one run; one that was never started is pending."""
        folder = self.folder(run)
        return _state(folder) if (folder / "spec.json").is_file() else "pending"

    def states(self) -> list[dict[str, Any]]:
        """Every run by state: done, running, failed or stopped (started, not finished, not in progress)."""
        rows = []
        for folder in sorted(self.root.glob("*/")):
            try:
                text = _described(folder)
                described = {"dataset": text["spec"]["data"]["name"], "recipe": text["recipe"], "spec": text["spec"]}
                rows.append({"run_id": folder.name, "state": _state(folder), **described})
            except (DamagedError, KeyError, TypeError, OSError) as error:
                say(f"a run cannot be read and is skipped: {folder} ({error})")
        return rows


def _described(folder: Path) -> dict[str, Any]:
    """What was run: from ``spec.json``, or from the result, which says the same."""
    try:
        return read_checked(folder / "spec.json")
    except DamagedError:
        if not (folder / "result.json").is_file():
            raise
        return read_checked(folder / "result.json")


def _state(folder: Path) -> str:
    if (folder / "result.json").is_file():
        return "done"
    try:
        with FileLock(folder / "running.lock", timeout=0):
            return "failed" if (folder / "failed.json").is_file() else "stopped"
    except Timeout:
        return "running"
