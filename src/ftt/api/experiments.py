"""Many runs: a table or figure of the paper by name, and sweeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from ftt import registry
from ftt.api.arguments import Folder, as_home, as_path, as_resources
from ftt.errors import unknown
from ftt.launch import ALL, Resources, launch
from ftt.launch.sweep_result import SweepResult
from ftt.progress import say
from ftt.screen import shows_progress
from ftt.spec import identify

if TYPE_CHECKING:
    from ftt.paper.experiment import Experiment, Request
    from ftt.paper.publish import Reproduction


class RequestOptions(TypedDict, total=False):
    """How an experiment is run: ``paper``, ``cpu`` or ``smoke``, on which data set, with how many seeds."""

    budget: str
    dataset: str
    seeds: int | None
    probe_seeds: int | None
    backbone: str | None


@shows_progress
def reproduce(
    name: str,
    *,
    out: Path | str | None = None,
    home: Folder = None,
    published: Path | str | None = None,
    on: str = "local",
    resources: Resources = ALL,
    **request: Unpack[RequestOptions],
) -> Reproduction:
    """Run a table or figure by name (`ftt ls experiments`); stored and published runs are not repeated.

    Parameters
    ----------
    out : path, optional
        Folder for the page, its pictures and the runs behind it.
    published : path, optional
        A folder such as `out` of an earlier call, here or elsewhere: runs that it holds are taken from there.
    on, resources
        Where to run, and how much of it to use; see `ftt.launch`.
    **request
        ``budget``, ``dataset``, ``seeds``, ``probe_seeds``, ``backbone``.
    """
    from dataclasses import replace

    from ftt.launch.filling import fill
    from ftt.paper.publish import Reproduction, publish

    experiment, wanted = requested(name, **request)
    target = None if out is None else as_path("out", out)
    earlier = None if published is None else as_path("published", published)
    folder, resources = as_home(home), as_resources(resources)
    table, failures = fill(name, experiment.cells(wanted), folder, published=earlier, on=on, resources=resources)
    made = Reproduction(experiment, wanted, table, experiment.shows(table, wanted, folder), failures)
    return replace(made, files=publish(made, target)) if target else made


def requested(name: str, **request: Unpack[RequestOptions]) -> tuple[Experiment, Request]:
    """An experiment, and how it is to be run."""
    from ftt.paper.experiment import Request

    experiment = registry.EXPERIMENTS.get(name)
    known = {field.name for field in fields(Request)}
    for option in request:
        if option not in known:
            raise unknown("option of reproduce", option, known)
    return experiment, experiment.checked(Request(**request))


@shows_progress
def sweep(
    source: Path | str | Mapping[str, Any],
    *,
    home: Folder = None,
    on: str = "local",
    resources: Resources = ALL,
) -> SweepResult:
    """Run every Spec of a sweep that has no result yet; a run that fails does not stop the others.

    Parameters
    ----------
    source : path or mapping
        A TOML file (docs/scale.md), or what such a file holds.
    """
    from ftt.runs.sweep_file import parse, read

    wanted = parse(source) if isinstance(source, Mapping) else read(as_path("source", source))
    folder, resources = as_home(home), as_resources(resources)
    different = {run.key: run for run in identify(wanted.specs, folder.roots)}.values()
    done = sum(folder.runs.find(run) is not None for run in different)
    say(f"{wanted.name}: {len(different)} runs, {done} of them already in the store")
    return SweepResult(wanted, launch(wanted.specs, folder, on=on, resources=resources))
