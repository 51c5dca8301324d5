"""The Python front doors: each mirrors a command and returns an object that can be printed, framed and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from ftt import registry
from ftt.caching import Cache, NoCache
from ftt.errors import FttError, unknown
from ftt.launch import ALL, Resources, launch
from ftt.launch.sweep_result import SweepResult
from ftt.progress import say
from ftt.recipe import PRESETS, Recipe, as_recipe
from ftt.spec import Spec, Training, checked_seed, identify
from ftt.store import ArtifactStore, Home

if TYPE_CHECKING:
    from pandas import DataFrame

    from ftt.data import GroupedData
    from ftt.paper.publish import Reproduction
    from ftt.paper.result_table import Cell, ResultTable
    from ftt.result import Result
    from ftt.runs.comparison import Comparison
    from ftt.train import FreezeThenTrain
    from ftt.train.machine import Machine

Folder = Home | Path | str | None
"""Where runs and artifacts are kept: a `Home`, a folder, or None for ``FTT_HOME``."""

Names = str | Sequence[str]

KINDS = ("datasets", "backbones", "freezers", "methods", "recipes", "experiments")


def run(
    data: str | Spec,
    recipe: Recipe | str = "ftt",
    *,
    home: Folder = None,
    machine: Machine | None = None,
    **options: Any,
) -> Result:
    """Run one experiment: noise, features, freeze, train, probe, evaluate. A stored result is not computed again.

    Parameters
    ----------
    data : str or Spec
        A data set by name (`ftt ls datasets`), or a complete Spec.
    recipe : str or Recipe
        A recipe by name (`ftt ls recipes`), or a Recipe.
    home : Home or path, optional
        Where runs and artifacts are kept; default ``FTT_HOME``.
    machine : Machine, optional
        Devices of the training.
    **options
        ``p``, ``freeze``, ``method``, ``join``, ``backbone``, ``budget``, ``protocol``, ``seed``, and every parameter
        of data set, training, probing, freezer and method, as on the command line: ``core_noise=0.2, epochs=2``. A
        name that two parts have is given in full: ``**{"probe.groups": "attribute"}``.

    Examples
    --------
    >>> result = run("digits", recipe="init", core_noise=0.2, home=getfixture("tmp_path"))
    >>> result.spec.recipe.name, 0.5 < result.worst_group_accuracy < 1
    ('init', True)
    """
    from ftt.runs.compose import compose
    from ftt.runs.runner import run_spec
    from ftt.train.machine import Machine

    if machine is not None and not isinstance(machine, Machine):
        raise FttError("machine must be a Machine", given=repr(machine)[:80], allowed="ftt.train.machine.Machine()")
    if isinstance(data, Spec) and options:
        raise FttError("a Spec is complete", given=", ".join(options), allowed="ftt.run(spec)")
    spec = data if isinstance(data, Spec) else compose({"dataset": data, "recipe": recipe, **options})
    return run_spec(spec, as_home(home), machine)


def compare(
    data: str, recipes: Sequence[Recipe | str], *, seeds: int = 1, home: Folder = None, **options: Any
) -> Comparison:
    """Run several recipes on one data set and compare each with the first, on the same test rows.

    Parameters
    ----------
    data : str
        A data set by name.
    recipes : sequence of str or Recipe
        At least two; trainings that they share are made once.
    seeds : int
        Number of trainings of every recipe.
    **options
        As for `run`.

    Examples
    --------
    >>> made = compare("digits", ["init", "pca"], core_noise=0.2, home=getfixture("tmp_path"))
    >>> made.difference("pca").low <= made.difference("pca").value
    True
    """
    from ftt.runs.comparison import Comparison
    from ftt.runs.compose import compose

    if isinstance(recipes, str) or len(recipes) < 2:
        raise FttError("a comparison needs at least two recipes", given=repr(recipes)[:80], allowed="['erm', 'ftt']")
    first = checked_seed(options.pop("seed", 0))
    specs = {
        (as_recipe(recipe).name if isinstance(recipe, Recipe) else recipe): [
            compose({"dataset": data, "recipe": recipe, **options, "seed": first + n}) for n in range(seeds)
        ]
        for recipe in recipes
    }
    folder = as_home(home)
    done = launch([spec for listed in specs.values() for spec in listed], folder, resources=Resources(workers=1))
    for outcome in done:
        if outcome.error is not None:
            raise FttError(f"run {outcome.run.id} failed", given=outcome.error)
    found = iter(done)
    return Comparison({name: [r for _ in listed if (r := next(found).result)] for name, listed in specs.items()})


def fit(
    data: GroupedData,
    recipe: Recipe | str = "ftt",
    backbone: str | None = None,
    *,
    seed: int = 0,
    cache: Cache | Path | str | None = None,
    **training: Any,
) -> FreezeThenTrain:
    """Freeze, then train on a data set.

    Parameters
    ----------
    data : GroupedData
        Its training split is read with the observed labels; recipes whose sources use the target read ``val`` too.
    recipe : str or Recipe
        A recipe by name (`ftt ls recipes`), or a Recipe.
    backbone : str, optional
        A name of `ftt ls backbones`; by default that of `ftt run` for this data set.
    seed : int
        Seed of new layers and of the order of the data.
    cache : Cache or path, optional
        Where features, bases and trained weights are kept between calls.
    **training
        What differs from the training of `ftt run` for this data set: ``epochs=2, lr=0.01``; or
        ``training=ftt.Training(…)``.

    Examples
    --------
    >>> import ftt
    >>> data = ftt.load("digits", core_noise=0.2)
    >>> model = ftt.fit(data, "ftt", epochs=2)
    >>> model.transform(data["val"]).shape
    (360, 64)
    """
    from ftt.data import GroupedData
    from ftt.settings import training_for
    from ftt.train import Services
    from ftt.train import fit as fit_model

    if not isinstance(data, GroupedData):
        raise FttError("data must be a GroupedData", given=repr(data)[:80], allowed="ftt.load('digits')")
    whole = training.pop("training", None)
    if whole is not None and (training or not isinstance(whole, Training)):
        raise FttError("training must be a Training, without further parameters", given=repr(whole), allowed="epochs=…")
    chosen = whole or training_for(data.source).replace(**training)
    services = Services(cache=_as_cache(cache))
    return fit_model(data, recipe, backbone, training=chosen, seed=checked_seed(seed), services=services)


class RequestOptions(TypedDict, total=False):
    """How an experiment is run: ``paper``, ``cpu`` or ``smoke``, on which data set, with how many seeds."""

    budget: str
    dataset: str
    seeds: int | None
    probe_seeds: int | None


def reproduce(
    name: str,
    *,
    out: Path | str | None = None,
    home: Folder = None,
    on: str = "local",
    resources: Resources = ALL,
    **request: Unpack[RequestOptions],
) -> Reproduction:
    """Run a table or figure by name (`ftt ls experiments`); stored runs are not repeated.

    Parameters
    ----------
    out : path, optional
        Folder for the page, its pictures and the runs behind it.
    on, resources
        Where to run, and how much of it to use; see `ftt.launch`.
    **request
        ``budget``, ``dataset``, ``seeds``, ``probe_seeds``.
    """
    from dataclasses import replace

    from ftt.paper.experiment import Request
    from ftt.paper.publish import Reproduction, publish

    experiment, resources = registry.EXPERIMENTS.get(name), _checked(resources)
    target = None if out is None else _path("out", out)
    known = {field.name for field in fields(Request)}
    for option in request:
        if option not in known:
            raise unknown("option of reproduce", option, known)
    wanted, folder = experiment.checked(Request(**request)), as_home(home)
    table, failures = _measure(name, experiment.cells(wanted), folder, on, resources)
    made = Reproduction(experiment, wanted, table, experiment.findings(table, wanted, folder.roots), failures)
    return replace(made, files=publish(made, target)) if target else made


def _measure(
    name: str, cells: Sequence[Cell], home: Home, on: str, resources: Resources
) -> tuple[ResultTable, dict[str, str]]:
    """The table of all cells, after running what has no result yet; and failures by run."""
    from ftt.paper.result_table import Measured, ResultTable
    from ftt.runs.time_estimate import estimate, in_words

    specs = list(dict.fromkeys(spec for cell in cells for spec in cell.specs))
    pending = [run.spec for run in identify(specs, home.roots) if home.runs.find(run) is None]
    if specs:
        say(f"{name}: {len(specs)} runs, {len(specs) - len(pending)} of them already in the store")
    if pending and on != "store":
        seconds, workers = estimate(pending, home.roots), resources.divide(len(specs))[0]
        say(f"at most about {in_words(seconds / workers)} for {len(pending)} runs, {workers} at a time")
    outcomes = dict(zip(specs, launch(specs, home, on=on, resources=resources), strict=True))
    found = ((cell, [outcomes[spec].result for spec in cell.specs]) for cell in cells)
    table = ResultTable(Measured(cell, tuple(r for r in results if r is not None)) for cell, results in found)
    return table, {o.run.id: o.error for o in outcomes.values() if o.error is not None}


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

    wanted = parse(source) if isinstance(source, Mapping) else read(_path("source", source))
    folder, resources = as_home(home), _checked(resources)
    different = {run.key: run for run in identify(wanted.specs, folder.roots)}.values()
    done = sum(folder.runs.find(run) is not None for run in different)
    say(f"{wanted.name}: {len(different)} runs, {done} of them already in the store")
    return SweepResult(wanted, launch(wanted.specs, folder, on=on, resources=resources))


def results(where: str | None = None, *, group_by: Names = (), columns: Names = (), home: Folder = None) -> DataFrame:
    """Finished runs as a DataFrame: one row per run, or means over seeds by `group_by`.

    Parameters
    ----------
    where : str, optional
        A condition in SQL: ``"data.core_noise = 0.2 and recipe = 'ftt'"``.
    group_by, columns : str or sequence of str
        See `ftt results --help`; by default every column.
    """
    from ftt.store.query import collect, query

    groups, shown = _names("group_by", group_by), _names("columns", columns)
    runs = collect(as_home(home).runs)
    return query(runs, where=where, group_by=groups, columns=shown or (() if groups else runs.column_names)).to_pandas()


def ls(kind: str | None = None) -> dict[str, dict[str, str]]:
    """What can be chosen by name, with a one-line summary each.

    Examples
    --------
    >>> sorted(ls("freezers")["freezers"])
    ['contrastive', 'offdiag', 'pca', 'random']
    """
    if kind is not None and kind not in KINDS:
        raise unknown("list", kind, KINDS)
    return {name: _summaries(name) for name in ([kind] if kind else KINDS)}


def _summaries(kind: str) -> dict[str, str]:
    if kind == "recipes":
        return {name: preset.summary for name, preset in PRESETS.items()}
    offered: registry.Registry[Any] = getattr(registry, kind.upper())
    return {name: entry.summary for name, entry in offered.entries().items()}


def as_home(folder: Folder) -> Home:
    """The home in a folder, by default that of the environment."""
    return folder if isinstance(folder, Home) else Home.from_environment(folder and _path("home", folder))


def _as_cache(cache: Cache | Path | str | None) -> Cache:
    if cache is None:
        return NoCache()
    return cache if hasattr(cache, "keep") else ArtifactStore(_path("cache", cache))


def _checked(resources: Any) -> Resources:
    if not isinstance(resources, Resources):
        raise FttError("resources must be Resources", given=repr(resources)[:80], allowed="ftt.Resources(workers=2)")
    return resources


def _names(name: str, given: Any) -> Sequence[str]:
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Sequence):
        raise FttError(f"{name} must be one or more columns", given=repr(given)[:80], allowed=f'{name}=["recipe", "p"]')
    return given


def _path(name: str, value: Any) -> Path:
    if not isinstance(value, str | PathLike):
        raise FttError(f"{name} must be a path", given=repr(value)[:80], allowed=f'{name}="folder"')
    return Path(value)
