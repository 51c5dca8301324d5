"""Results of runs: one folder each, written atomically, found by key, checked when read."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator, Mapping
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
from ftt.spec import FORMAT, Run, Spec
from ftt.store import used
from ftt.store.checked_json import read_checked, write_checked, write_json
from ftt.store.index import Index, Line, stamp_of, summary


class RunStore:
    """One folder per run: ``spec.json`` from its start on, then ``result.json``, or ``failed.json`` if it failed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._index = Index(root)

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

    def named(self, name: str) -> Run:
        """The run of an id, or of the first digits of one, as people type it."""
        found = sorted(folder.name for folder in self.root.glob("*/") if folder.name.startswith(name)) if name else []
        if len(found) != 1 or not name.isalnum():
            near = ", ".join(found[:5]) or ", ".join(sorted(folder.name for folder in self.root.glob("*/"))[:5])
            raise FttError(
                f"{len(found)} runs have an id that begins with {name!r}" if found else f"there is no run {name!r}",
                given=name,
                allowed=near or f"no runs yet in {self.root}",
                hint="ftt status lists all runs; --home names another store",
            )
        try:
            text = _described(self.root / found[0])
            return Run(Spec.from_description(text["spec"]), text["key"])
        except (DamagedError, KeyError, TypeError, OSError) as error:
            raise FttError(f"the run {found[0]} cannot be read", given=str(error), hint="run it again") from None

    def read(self, run_id: str) -> Result:
        """The stored result of a finished run, by its whole id."""
        return Result.from_json(read_checked(self.root / run_id / "result.json")).looked_up()

    def begin(self, run: Run) -> AbstractContextManager[None]:
        """Record that the run was started; the lock tells others that it is in progress."""
        self._record(run)
        (self.folder(run) / "failed.json").unlink(missing_ok=True)
        return locked(self.folder(run) / "running.lock", f"it is at run {run.id}")

    def finish(self, run: Run, result: Result) -> None:
        path, content = self.folder(run) / "result.json", result.to_json()
        write_checked(path, content)
        if (stamp := stamp_of(path)) is not None:
            self._index.add(run.id, stamp, summary(content))
        (self.folder(run) / "failed.json").unlink(missing_ok=True)

    def forget(self, run: Run) -> None:
        """Of a run that was refused nothing can be resumed, so it is not listed as stopped."""
        for name in ("spec.json", "train.jsonl", used.NAME):
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
        """The summary of every stored result (`ftt.store.index`); what cannot be read is reported and skipped."""
        lines = self._index.lines()
        for folder in self._folders():
            if (found := self._summary(folder, lines)) is None:
                continue
            if found.get("format") == FORMAT:
                yield found
            else:
                say(f"a stored result has an older format and is skipped: {self.root / folder / 'result.json'}")

    def _folders(self) -> list[str]:
        """The names of all folders of runs, sorted."""
        try:
            with os.scandir(self.root) as found:
                return sorted(entry.name for entry in found if entry.is_dir())
        except FileNotFoundError:
            return []

    def _summary(self, folder: str, lines: Mapping[str, Line]) -> dict[str, Any] | None:
        """What a folder's result says, from the index where it is up to date; None without a sound result."""
        path = self.root / folder / "result.json"
        stamp = stamp_of(path)
        if stamp is None:
            return None
        line = lines.get(folder)
        if line is None or line.stamp != stamp:
            try:
                line = self._index.add(folder, stamp, summary(read_checked(path)))
            except (DamagedError, OSError, KeyError, TypeError) as error:
                say(f"a stored result is damaged and is skipped: {path} ({error})")
                return None
        return line.content

    def state(self, run: Run) -> str:
        """The state of one run; one that was never started is pending."""
        folder = self.folder(run)
        return state_of(folder) if (folder / "spec.json").is_file() else "pending"

    def states(self) -> list[dict[str, Any]]:
        """Every run by state: done, running, failed or stopped (started, not finished, not in progress)."""
        lines, rows = self._index.lines(), []
        for name in self._folders():
            try:
                text = self._summary(name, lines)
                state = "done" if text is not None else state_of(self.root / name)
                if text is None:
                    text = read_checked(self.root / name / "spec.json")
                described = {"dataset": text["spec"]["data"]["name"], "recipe": text["recipe"], "spec": text["spec"]}
                rows.append({"run_id": name, "state": state, **described})
            except (DamagedError, KeyError, TypeError, OSError) as error:
                say(f"a run cannot be read and is skipped: {self.root / name} ({error})")
        return rows


def _described(folder: Path) -> dict[str, Any]:
    """What was run: from ``spec.json``, or from the result, which says the same."""
    try:
        return read_checked(folder / "spec.json")
    except DamagedError:
        if not (folder / "result.json").is_file():
            raise
        return read_checked(folder / "result.json")


def state_of(folder: Path) -> str:
    """Done, running, failed or stopped."""
    if (folder / "result.json").is_file():
        return "done"
    try:
        with FileLock(folder / "running.lock", timeout=0):
            return "failed" if (folder / "failed.json").is_file() else "stopped"
    except Timeout:
        return "running"
