"""The contract of a launcher: Specs in, one outcome each out, whatever they run on.

A sweep is a list of Specs and a run is a function of its Spec, so every launcher resumes by construction: what has a
result is not run again, and what several runs share is made by whoever needs it first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral

from ftt import threads
from ftt.errors import FttError, unknown
from ftt.progress import say, track
from ftt.result import Result
from ftt.spec import Run, Spec, identify
from ftt.store import Home

WHERE = ("local", "ray", "store")
MOST = 10_000
"""Workers of a sweep, or threads of a run."""


@dataclass(frozen=True)
class Outcome:
    """How one run ended.

    Attributes
    ----------
    run : Run
        The run.
    result : Result, optional
        None if the run failed, or was left out.
    error : str, optional
        Why it failed, in one line; the traceback is in the run's folder (``failed.json``).
    """

    run: Run
    result: Result | None
    error: str | None = None


@dataclass(frozen=True)
class Resources:
    """How much of a machine a sweep may use.

    Attributes
    ----------
    workers : int, optional
        Runs at once; by default as many as fit: cores // threads, and no more than there are runs.
    threads : int, optional
        Threads per run; by default the cores divided by the workers.
    """

    workers: int | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        for name in ("workers", "threads"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= MOST:
                raise FttError(
                    f"{name} must be a positive integer", given=repr(value)[:80], allowed=f"1 <= {name} <= {MOST}"
                )
            object.__setattr__(self, name, int(value))

    def divide(self, runs: int, cores: int | None = None) -> tuple[int, int]:
        """(workers, threads) for a number of runs.

        It is all runs of a sweep that count, not those that are left: a resumed sweep computes with as many threads
        as the first time, which keeps its results the same to the bit.

        Examples
        --------
        >>> Resources().divide(12, cores=8), Resources().divide(2, cores=8), Resources(threads=4).divide(12, cores=8)
        ((8, 1), (2, 4), (2, 4))
        """
        cores = cores or threads.available()
        workers = self.workers or max(1, min(runs, cores // (self.threads or 1)))
        return workers, self.threads or max(1, cores // workers)


ALL = Resources()
"""The whole machine."""


@dataclass(frozen=True)
class Ended:
    """The news that run number `index` has ended: with a result, or with an error and its traceback."""

    index: int
    result: Result | None
    error: str | None = None
    traceback: str = ""
    attempts: int = 1


Launcher = Callable[[Mapping[int, Run], Home, Resources, int], Iterator[Ended]]
"""Executes numbered runs and yields as each ends, in any order; the last argument counts those done before too."""


def launch(
    specs: Sequence[Spec],
    home: Home,
    *,
    on: str = "local",
    resources: Resources = ALL,
    on_end: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Run every Spec that has no result yet.

    Duplicated Specs are run once. A failing run does not stop the others.

    Parameters
    ----------
    specs : sequence of Spec
        What to run.
    home : Home
        Where results and artifacts are kept, and where data may be.
    on : str
        "local": processes of this machine, or this process if one worker is enough. "ray": tasks on the cluster that
        ``RAY_ADDRESS`` names, or on one that is started here and ended afterwards. "store": nowhere; runs that have no
        stored result are left out.
    resources : Resources
        How many runs at once, with how many threads each.
    on_end : callable, optional
        Called once per run, as soon as its outcome is known: first for stored results, then as runs end.

    Returns
    -------
    list of Outcome
        One per Spec, in the order of the Specs.
    """
    check_place(on)
    runs = identify(specs, home.roots)
    keys = [run.key for run in runs]
    first = {key: index for index, key in reversed(list(enumerate(keys)))}
    ended: dict[int, Ended] = {}

    def note(end: Ended) -> None:
        ended[end.index] = end
        if on_end is not None:
            on_end(Outcome(runs[end.index], end.result, end.error))

    for index in sorted(first.values()):
        if (found := home.runs.find(runs[index])) is not None:
            note(Ended(index, found))
    left = {index: runs[index] for index in sorted(first.values()) if index not in ended}
    if left and on != "store":
        news = _launcher(on)(left, home, resources, len(first))
        for end in track(news, "runs", total=len(first), done=len(ended)):
            note(end)
            if end.error is not None:
                home.runs.fail(runs[end.index], end.error, end.traceback, end.attempts)
                say(f"run {runs[end.index].id} failed: {end.error}")
    ends = (ended.get(first[key]) for key in keys)
    return [
        Outcome(run, end.result if end else None, end.error if end else None)
        for run, end in zip(runs, ends, strict=True)
    ]


def check_place(on: str) -> None:
    """Refuse a name that is not one of the places where runs are executed."""
    if on not in WHERE:
        raise unknown("launcher", on, WHERE)


def _launcher(on: str) -> Launcher:
    """Imported when chosen: Ray is an extra."""
    if on == "ray":
        from ftt.launch.ray import run_on_ray

        return run_on_ray
    from ftt.launch.local import run_locally

    return run_locally
