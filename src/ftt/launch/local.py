"""Runs on this machine: in this process one after another, or in a few worker processes side by side.

Workers are programs of their own (`ftt.launch.worker`) that live as long as there is work, so torch is imported once
each; `started_ahead` lets them do so while this process has something else to do. Threads are divided between them
before they start. A worker that dies takes nobody with it: its run is tried once more by a new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from ftt import threads as pools
from ftt.launch.launcher import Ended, Resources
from ftt.launch.messages import pass_on
from ftt.launch.worker import answered, attempt, order
from ftt.params import Json
from ftt.progress import report, say
from ftt.spec import Run
from ftt.store import Home

ATTEMPTS = 2
"""How often a run may be begun whose worker dies."""

PATIENCE = 5.0
"""Seconds between asking a worker to end and ending it."""

Inbox = queue.Queue[tuple["Worker", dict[str, Any] | None]]
"""Messages of workers; None when one has gone."""


def run_locally(runs: Mapping[int, Run], home: Home, resources: Resources, total: int) -> Iterator[Ended]:
    """In this process if one worker is wanted, else in several."""
    workers, threads = resources.divide(total)
    if workers == 1:
        return run_here(runs, home, threads)
    return run_in_processes(runs, home, min(workers, len(runs)), threads)


def run_here(runs: Mapping[int, Run], home: Home, threads: int) -> Iterator[Ended]:
    """In this process, one after another."""
    import torch  # noqa: F401 (`limited_to` sets the threads of what is loaded)

    waiting = dict(runs)
    with pools.limited_to(threads):
        while waiting:
            index = _choose(waiting, home)
            yield answered(index, attempt(waiting.pop(index).spec, home))


def run_in_processes(runs: Mapping[int, Run], home: Home, workers: int, threads: int) -> Iterator[Ended]:
    """In several worker processes, each for several runs."""
    tasks = {index: Task(f"run {run.id}", order(run, home)) for index, run in runs.items()}

    def choose(waiting: Mapping[int, Task]) -> int:
        return _choose({index: runs[index] for index in waiting}, home)

    for answer in in_processes(tasks, workers, threads, choose):
        if answer.content is None:
            error = f"its worker died {answer.attempts} times ({answer.cause})"
            yield Ended(answer.index, None, error, attempts=answer.attempts)
        else:
            yield answered(answer.index, answer.content, answer.attempts)


@dataclass(frozen=True)
class Task:
    """Something that a worker can do: what it is called in messages, and the order that is sent."""

    name: str
    order: dict[str, Json]


@dataclass(frozen=True)
class Answer:
    """What a worker answered to task number `index`; None if it died too often, and why."""

    index: int
    content: dict[str, Any] | None
    attempts: int
    cause: str = ""


def in_processes(
    tasks: Mapping[int, Task],
    workers: int,
    threads: int,
    choose: Callable[[Mapping[int, Task]], int],
) -> Iterator[Answer]:
    """Have numbered tasks done by worker processes, each for several; answers in the order in which they end.

    Parameters
    ----------
    choose : callable
        Which of the waiting tasks is begun next.
    """
    waiting, begun = dict(tasks), dict.fromkeys(tasks, 0)
    team = _team.get() or Team()
    busy: list[Worker] = []

    def start() -> None:
        busy.append(team.worker(threads))
        give(busy[-1])

    def give(worker: Worker) -> None:
        index = worker.at = choose(waiting)
        begun[index] += 1
        worker.send(waiting.pop(index).order)

    try:
        for _ in range(workers):
            start()
        while busy:
            worker, message = team.inbox.get()
            if worker not in busy:
                continue
            index = worker.at
            if message is not None and ("say" in message or "at" in message):
                pass_on(tasks[index].name, message)
                continue
            report(tasks[index].name, None)
            if message is None:
                busy.remove(worker)
                if begun[index] < ATTEMPTS:
                    say(f"{tasks[index].name}: its worker died ({worker.cause()}); trying again")
                    waiting[index] = tasks[index]
                else:
                    yield Answer(index, None, begun[index], worker.cause())
                if waiting:
                    start()
            else:
                yield Answer(index, message, begun[index])
                if waiting:
                    give(worker)
                else:
                    busy.remove(worker)
                    worker.end()
    finally:
        for worker in busy:
            worker.end()


def _choose(waiting: Mapping[int, Run], home: Home) -> int:
    """The first run that is not in progress elsewhere: several drivers of one sweep then share it, without waiting."""
    free = (index for index, run in waiting.items() if home.runs.state(run) != "running")
    return next(free, next(iter(waiting)))


@dataclass(eq=False)
class Worker:
    """A worker process and the run it is working on."""

    threads: int
    inbox: Inbox
    at: int = -1
    process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        # What this process can import the worker can too. -P: nothing is imported from the current folder.
        path = os.pathsep.join(part for part in sys.path if part)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "ftt.launch.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **pools.environment(self.threads), "PYTHONPATH": path},
            text=True,
            encoding="utf-8",
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, message: dict[str, Json]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return  # It died; `_listen` tells.

    def cause(self) -> str:
        """How the process ended."""
        return in_words(self.process.wait())

    def end(self) -> None:
        """Terminate the process, and kill it if it does not end. Its run can be resumed."""
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(ValueError):  # Half a line: it died while answering.
            for line in self.process.stdout:
                self.inbox.put((self, json.loads(line)))
        self.inbox.put((self, None))


def in_words(code: int) -> str:
    """An exit code as Python has it: negative for signals."""
    return f"signal {-code}" if code < 0 else f"exit code {code}"


@dataclass
class Team:
    """Where the messages of workers arrive, and workers that have nothing to do yet."""

    inbox: Inbox = field(default_factory=queue.Queue)
    idle: list[Worker] = field(default_factory=list)

    def worker(self, threads: int) -> Worker:
        """One that was started ahead, or a new one."""
        # One that has died meanwhile is taken too: that it is gone is the next thing it is known to have said.
        fitting = [worker for worker in self.idle if worker.threads == threads]
        if not fitting:
            return Worker(threads, self.inbox)
        self.idle.remove(fitting[0])
        return fitting[0]


_team: ContextVar[Team | None] = ContextVar("ftt_team", default=None)


@contextlib.contextmanager
def started_ahead(workers: int, threads: int) -> Iterator[None]:
    """Start workers for runs that are launched later in the block, while this process does something else."""
    team = Team()
    token = _team.set(team)
    try:
        team.idle = [Worker(threads, team.inbox) for _ in range(workers)]
        yield
    finally:
        _team.reset(token)
        for worker in team.idle:
            worker.end()
