"""Tasks on a Ray cluster: runs and shards, tried again where a worker, a node or the whole cluster dies.

A node that sees the home folder works in it, so that features and trainings are shared by all; one that does not keeps
a folder of its own and sends the result home. Whether it sees it is found out with a token file.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ftt import threads as pools
from ftt.errors import FttError
from ftt.launch.cluster import Cluster, cluster
from ftt.launch.launcher import Ended, Resources
from ftt.launch.local import Task
from ftt.launch.mailbox import Posting, Reader
from ftt.launch.messages import EVERY
from ftt.launch.worker import answered, carry_out, in_one_line, order
from ftt.params import digest
from ftt.progress import report, say, shown_on
from ftt.spec import Run
from ftt.store import Home

RETRIES = 3
"""How often a task may be begun anew whose worker or node died, and tasks whose cluster was lost."""

LISTEN = 2.0
"""Seconds after which the driver looks for messages, and for the cluster, if no task has ended."""

RETURN = 600.0
"""Seconds that a lost cluster may take to come back."""

Work = Callable[[dict[str, Any], str], Any]
"""What a task does with its order and the name of the token file."""


def run_on_ray(runs: Mapping[int, Run], home: Home, resources: Resources, total: int) -> Iterator[Ended]:
    """As tasks; on a running cluster as many at once as it has room for, unless a number is given."""
    tasks = {index: Task(f"run {run.id}", order(run, home)) for index, run in runs.items()}
    for index, answer in in_tasks(run_on_node, tasks, home, resources, total):
        if isinstance(answer, Exception):
            error = in_one_line(answer).partition(" · ")[0]
            yield Ended(index, None, error, str(answer), 1 + RETRIES)
            continue
        end = answered(index, json.loads(answer))
        if end.result is not None and home.runs.find(end.result.run) is None:
            # A node with a folder of its own: the result is kept here as if it had been made here.
            with home.runs.begin(end.result.run):
                home.runs.finish(end.result.run, end.result)
        yield end


def run_on_node(given: dict[str, Any], token: str) -> str:
    """The task of a run: an answer as JSON."""
    return json.dumps(carry_out(given, root_on_node(Path(given["home"]), token)))


def in_tasks(
    work: Work, tasks: Mapping[int, Task], home: Home, resources: Resources, total: int
) -> Iterator[tuple[int, Any]]:
    """Have numbered tasks done on a cluster; what each returned, or the error of Ray that ended it, as they end.

    If the head of the cluster dies, the driver waits for a new one at the same address and goes on there.

    Parameters
    ----------
    work : callable
        A function of this package; Ray sends its name, not its code.
    tasks : mapping of int to Task
        What is to be done.
    home : Home
    resources : Resources
    total : int
        Tasks of the whole job, those done before included.
    """
    left = dict(tasks)
    for losses in range(1 + RETRIES):
        with cluster(resources, total, RETURN if losses else 0.0) as nodes, seen_by(home) as token:
            for index, answer in _until_lost(nodes, work, left, token):
                del left[index]
                yield index, answer
        if not left:
            return
        if nodes.borrowed:
            break
        say(f"the Ray cluster at {nodes.address} is lost; it has {RETURN / 60:g} minutes to come back")
    raise FttError(
        "the Ray cluster is lost",
        given=nodes.address,
        allowed="a cluster whose head answers",
        hint="start it and give the same command again: what is finished is not repeated",
    )


def _until_lost(nodes: Cluster, work: Work, tasks: Mapping[int, Task], token: str) -> Iterator[tuple[int, Any]]:
    ray, reader = nodes.ray, Reader(nodes.ray)
    task = remote(ray, on_node, nodes.threads)
    place = {"token": token, "threads": nodes.threads, "folder": str(Path.cwd())}
    waiting = iter(dict(tasks).items())
    running: dict[Any, int] = {}
    try:
        while True:
            for index, one in itertools.islice(waiting, nodes.workers - len(running)):
                posting = Posting(reader.mailbox, one.name, EVERY)
                running[task.remote(work, json.dumps(one.order), posting, **place)] = index
            if not running:
                reader.close()
                return
            ready, _ = ray.wait(list(running), num_returns=1, timeout=LISTEN)
            answers = [(ref, _answer(ray, ref)) for ref in ready]
            if _lost(nodes, [answer for _, answer in answers]):
                # Nothing can be cancelled there any more, and no task is to blame.
                running.clear()
                return
            reader.read()
            for ref, answer in answers:
                index = running.pop(ref)
                if isinstance(answer, Exception):
                    report(tasks[index].name, None)  # It could not say so itself.
                yield index, answer
    finally:
        for ref in running:
            ray.cancel(ref, force=True)


def _lost(nodes: Cluster, answers: list[Any]) -> bool:
    """Whether the cluster is no longer there: asked where a task failed, and where none has ended for a while."""
    died: type[Exception] = nodes.ray.exceptions.LocalRayletDiedError
    failed = [answer for answer in answers if isinstance(answer, Exception)]
    return any(isinstance(error, died) for error in failed) or (len(failed) == len(answers) and nodes.gone())


def _answer(ray: Any, ref: Any) -> Any:
    try:
        return ray.get(ref)
    except ray.exceptions.RayError as error:
        return error


def on_node(work: Work, text: str, posting: Posting, token: str, threads: int, folder: str) -> Any:
    """The task: carry out an order, given as JSON, with the threads and messages of this task."""
    import torch  # noqa: F401 (`limited_to` sets the threads of what is loaded)

    # Paths of data may be relative to where the driver stands.
    there = contextlib.chdir(folder) if Path(folder).is_dir() else contextlib.nullcontext()
    with there, pools.limited_to(threads), shown_on(posting):
        try:
            return work(json.loads(text), token)
        finally:
            posting.close()


def remote(ray: Any, function: Any, threads: int) -> Any:
    """A function of this package as a task that takes `threads` cores. Ray sends its name, not its code."""
    options = {"num_cpus": threads, "max_retries": RETRIES, "runtime_env": {"env_vars": pools.environment(threads)}}
    return ray.remote(**options)(function)


def root_on_node(root: Path, token: str) -> Path:
    """The driver's home if this node sees it, else one of this node, the same for every task of that driver."""
    return root if (root / token).is_file() else Path(tempfile.gettempdir()) / f"ftt-home-{digest(str(root))[:16]}"


@contextlib.contextmanager
def seen_by(home: Home) -> Iterator[str]:
    """A file in the home folder, by which nodes can tell whether they see that folder."""
    token = f".seen-{uuid.uuid4().hex}"
    home.root.mkdir(parents=True, exist_ok=True)
    (home.root / token).touch()
    try:
        yield token
    finally:
        (home.root / token).unlink(missing_ok=True)
