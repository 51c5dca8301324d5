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
from ftt.screen import shows_progress
from ftt.spec import Spec, Training, checked_seed, identify
from ftt.store import ArtifactStore, Home

if TYPE_CHECKING:
    from pandas import DataFrame

    from ftt.data import GroupedData
    from ftt.diagnosis import Audit, Diagnosis, Rows
    from ftt.model import Model
    from ftt.model.exporting import Exported
    from ftt.paper.experiment import Experiment, Request
    from ftt.paper.publish import Reproduction
    from ftt.result import Result
    from ftt.runs.callbacks import Callback
    from ftt.runs.comparison import Comparison
    from ftt.runs.plan import Plan
    from ftt.runs.stored_run import StoredRun
    from ftt.store.removal import Removed
    from ftt.train import FreezeThenTrain
    from ftt.train.machine import Machine

Folder = Home | Path | str | None
"""Where runs and artifacts are kept: a `Home`, a folder, or None for ``FTT_HOME``."""

Names = str | Sequence[str]

KINDS = ("datasets", "backbones", "freezers", "methods", "recipes", "experiments")


@shows_progress
def run(
    data: str | Spec,
    recipe: Recipe | str = "ftt",
    *,
    home: Folder = None,
    machine: Machine | None = None,
    callbacks: Sequence[Callback] | None = None,
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
    callbacks : sequence of Callback, optional
        Who is told how the run goes (docs/runs.md); by default the trackers that ``FTT_LOG`` names.
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
    return run_spec(spec, as_home(home), machine, callbacks)


@shows_progress
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

    specs = compared_specs(data, recipes, seeds=seeds, **options)
    folder = as_home(home)
    done = launch([spec for listed in specs.values() for spec in listed], folder, resources=Resources(workers=1))
    for outcome in done:
        if outcome.error is not None:
            raise FttError(f"run {outcome.run.id} failed", given=outcome.error)
    found = iter(done)
    return Comparison({name: [r for _ in listed if (r := next(found).result)] for name, listed in specs.items()})


def compared_specs(
    data: str, recipes: Sequence[Recipe | str], *, seeds: int = 1, **options: Any
) -> dict[str, list[Spec]]:
    """The Specs of a comparison by recipe, one per training seed."""
    from ftt.runs.compose import compose

    if isinstance(recipes, str) or len(recipes) < 2:
        raise FttError("a comparison needs at least two recipes", given=repr(recipes)[:80], allowed="['erm', 'ftt']")
    first = checked_seed(options.pop("seed", 0))
    return {
        (as_recipe(recipe).name if isinstance(recipe, Recipe) else recipe): [
            compose({"dataset": data, "recipe": recipe, **options, "seed": first + n}) for n in range(seeds)
        ]
        for recipe in recipes
    }


@shows_progress
def plan(specs: Spec | Sequence[Spec], *, home: Folder = None, resources: Resources = ALL) -> Plan:
    """What running these Specs would compute, and about how long it would take, less what is in the store.

    Nothing is run but a few steps, which are timed.

    Examples
    --------
    >>> import ftt
    >>> data = ftt.load("digits").source
    >>> ftt.plan(ftt.Spec(data=data, backbone="tinyconv", recipe="ftt"), home=getfixture("tmp_path")).runs
    1
    """
    from ftt.runs.plan import plan as planned

    listed = [specs] if isinstance(specs, Spec) else list(specs)
    return planned(listed, as_home(home), _checked(resources).divide(len(listed))[0])


def save(
    run: Result | str,
    folder: Path | str,
    *,
    home: Folder = None,
    threshold: float | None = None,
    examples: int | None = None,
) -> Path:
    """Save the model of a finished run as a folder: `ftt.Model.load` reads it, `ftt predict` uses it.

    Parameters
    ----------
    run : Result or str
        What `ftt.run` returned, or the id of a run; features and trainings that are in the store are not made again.
    folder : path
        A new folder, or that of a saved model, which is replaced.
    home : Home or path, optional
        Where the run is kept; default ``FTT_HOME``.
    threshold : float, optional
        For two classes: the probability of the second above which it is predicted; 0.5 by default.
    examples : int, optional
        How many inputs of the probing split are kept with the model, for checking exports; 8 by default.
    """
    from ftt.data.roots import expanded
    from ftt.model.model import EXAMPLES
    from ftt.result import Result
    from ftt.runs.saving import save_run

    if not isinstance(run, Result | str):
        raise FttError("run must be a Result or the id of a run", given=repr(run)[:80], allowed="ftt.run(…), or an id")
    kept = as_home(home)
    chosen = run.run if isinstance(run, Result) else kept.runs.named(run)
    count = EXAMPLES if examples is None else examples
    return save_run(chosen, expanded(folder, "folder"), kept, threshold=threshold, examples=count)


def predict(
    model: Model | Path | str, source: Path | str, *, column: str | None = None, image_root: Path | str | None = None
) -> DataFrame:
    """Predict classes of files without labels: one row per input, with probabilities, or with the reason of an error.

    Parameters
    ----------
    model : Model or path
        A model, or the folder it was saved in.
    source : path
        A folder of images, a list, a table of texts, or features; `ftt predict --help` names all forms.
    column : str, optional
        Column of paths or texts, or array of features; by default as in the data that the model was fitted on.
    image_root : path, optional
        Folder that the paths of a list are relative to; by default that of the list.

    Returns
    -------
    DataFrame
        `ftt.Model.predict` takes arrays, tables and lists; `ftt predict` writes results larger than memory.
    """
    import pyarrow

    from ftt.data.roots import expanded
    from ftt.model import Model
    from ftt.model.predicting import schema, stream
    from ftt.model.reading import Source

    loaded = model if isinstance(model, Model) else Model.load(model)
    root = None if image_root is None else expanded(image_root, "image_root")
    pieces = stream(loaded, Source(expanded(source, "source"), column, root))
    return pyarrow.Table.from_batches(pieces, schema(loaded)).to_pandas()


def export(
    model: Model | Path | str, path: Path | str, form: str = "onnx", *, on: Path | str | None = None
) -> Exported:
    """Write a saved model as ONNX, TorchScript or torch.export, if it predicts the same there.

    Parameters
    ----------
    model : Model or path
        A model, or the folder it was saved in.
    path : path
        File to write.
    form : {"onnx", "torchscript", "torch-export"}
    on : path, optional
        Inputs to compare on, as for `predict`; by default those that were saved with the model.
    """
    from ftt.data.roots import expanded
    from ftt.model import Model
    from ftt.model.exporting import export
    from ftt.model.reading import Source, first_rows

    loaded = model if isinstance(model, Model) else Model.load(model)
    inputs = None if on is None else first_rows(Source(expanded(on, "on")), loaded.accepted)
    return export(loaded, expanded(path, "path"), form, inputs)


def diagnose(
    data: GroupedData | str,
    *,
    backbone: str | None = None,
    predict_attribute: bool = False,
    home: Folder = None,
    **options: Any,
) -> Diagnosis:
    """Estimate the noises of label and shortcut, and say whether training will help or harm. Nothing is trained.

    Parameters
    ----------
    data : GroupedData or str
        Data, or a data set by name. Its training and target (``val``) splits are read with observed labels; the test
        split is not.
    backbone : str, optional
        A name of `ftt ls backbones`; by default that of `ftt run` for this data set.
    predict_attribute : bool
        Do not read the attribute of the training split; predict it by a probe of the target split.
    home : Home or path, optional
        Where features of a data set by name are kept; default ``FTT_HOME``.
    **options
        Parameters of a data set by name, as for `run`: ``core_noise=0.2``.

    Examples
    --------
    >>> found = diagnose("digits", core_noise=0.2, home=getfixture("tmp_path"))
    >>> found.verdict.answer, found.core.low < 0.2 < found.core.high
    ('harms', True)
    """
    from ftt.data import GroupedData
    from ftt.diagnosis import diagnose as diagnosed

    if isinstance(data, GroupedData):
        if options:
            raise FttError(
                "data that are loaded take no parameters", given=", ".join(options), allowed="diagnose(data)"
            )
        return diagnosed(data, backbone, predict_attribute=predict_attribute)
    from ftt.runs.compose import compose

    chosen = {"dataset": data, "recipe": "init", **({"backbone": backbone} if backbone else {}), **options}
    spec, folder = compose(chosen), as_home(home)
    return diagnosed(
        spec.data.load(folder.roots), spec.backbone, predict_attribute=predict_attribute, cache=folder.artifacts
    )


@shows_progress
def audit(
    source: Rows | Model | Path | str,
    on: GroupedData | Path | str | None = None,
    *,
    fewest: int = 30,
    home: Folder = None,
    **options: Any,
) -> Audit:
    """Audit a classifier: accuracy by group, what its predictions follow, and labels that look wrong.

    Parameters
    ----------
    source : path, Rows or Model
        A table with predictions (.csv, .parquet, .npz or a folder of .npy), arrays as `ftt.diagnosis.Rows`, or a model
        (or the folder it was saved in), which then predicts the data it is audited on.
    on : GroupedData, name or path, optional
        What a model is audited on: data, a data set by name, or labelled inputs in any form that `ftt.predict` reads.
    fewest : int
        Smallest group that is listed.
    home : Home or path, optional
        Folders of data sets by name.
    **options
        Columns of a table: ``label``, ``attributes``, ``prediction``, ``other``, ``split``, ``features``,
        ``probabilities``, ``ids``; the split that is ``audited``; for labelled inputs also ``column`` and
        ``image_root``, as for `predict`; for a data set by name its parameters. See `ftt audit --help`.

    Examples
    --------
    >>> from ftt.diagnosis import Rows
    >>> y, place = ["cow", "camel"] * 50, ["grass"] * 50 + ["sand"] * 50
    >>> audit(Rows(y, {"place": place}, predicted=y)).overall.value
    1.0
    """
    from ftt.diagnosis.audit_file import Named, read_rows
    from ftt.diagnosis.auditing import Rows
    from ftt.diagnosis.auditing import audit as audited
    from ftt.model import Model
    from ftt.train.saved import is_saved

    if isinstance(source, Rows):
        if options or on is not None:
            raise FttError("arrays have no columns to name", given=", ".join(options) or on, allowed="audit(rows)")
        return audited(source, fewest=fewest)
    if on is not None:
        model = source if isinstance(source, Model) else Model.load(source)
        name = "model" if isinstance(source, Model) else _path("source", source).name
        return audited(_answered(model, on, home, options), fewest=fewest, name=name)
    path = None if isinstance(source, Model) else _path("source", source)
    if path is None or is_saved(path):
        raise FttError(
            "a model is audited on labelled data",
            given="a model alone",
            allowed="a data set by name, a labelled list or table, or a folder of images",
            hint="ftt audit MODEL DATA",
        )
    return audited(read_rows(path, Named(**_named(options, Named))), fewest=fewest, name=path.stem)


def _answered(model: Model, on: GroupedData | Path | str, home: Folder, options: dict[str, Any]) -> Rows:
    """What a model says about labelled data."""
    from ftt.data import GroupedData
    from ftt.data.roots import expanded
    from ftt.diagnosis.audit_file import Named
    from ftt.diagnosis.audit_model import rows_of_data, rows_of_files
    from ftt.model.reading import Source

    if isinstance(on, GroupedData):
        return rows_of_data(model, on, **_known(options, {"audited"}))
    if isinstance(on, str) and on in registry.DATASETS.entries():
        from ftt.runs.compose import compose

        audited = options.pop("audited", "test")
        return rows_of_data(model, compose({"dataset": on, **options}).data.load(as_home(home).roots), audited)
    column, root = (options.pop(name, None) for name in ("column", "image_root"))
    source = Source(expanded(on, "on"), column, None if root is None else expanded(root, "image_root"))
    return rows_of_files(model, source, Named(**_named(options, Named)))


def _named(options: dict[str, Any], named: type) -> dict[str, Any]:
    """The columns of an audit, checked."""
    found = _known(options, {field.name for field in fields(named)})
    return found | ({"attributes": tuple(_names("attributes", found["attributes"]))} if "attributes" in found else {})


def _known(options: dict[str, Any], known: set[str]) -> dict[str, Any]:
    for name in options:
        if name not in known:
            raise unknown("option of audit", name, known)
    return options


@shows_progress
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
    target = None if out is None else _path("out", out)
    earlier = None if published is None else _path("published", published)
    folder, resources = as_home(home), _checked(resources)
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


def show(run: str, *, home: Folder = None) -> StoredRun:
    """A run of the store by its id, or by the beginning of it: settings, result, artifacts, command."""
    from ftt.runs.stored_run import stored_run

    return stored_run(as_home(home), run)


def rm(
    runs: Names = (), *, failed: bool = False, unused: bool = False, dry_run: bool = False, home: Folder = None
) -> Removed:
    """Remove runs from the store, and what no run needs any more.

    Parameters
    ----------
    runs : str or sequence of str
        Ids of runs, or their beginnings.
    failed : bool
        Remove every run that failed.
    unused : bool
        Remove artifacts and checkpoints that no remaining run needs.
    dry_run : bool
        Only say what would be removed.
    """
    from ftt.store.removal import find_run, remove_runs, remove_unused

    folder, named = as_home(home), _names("runs", runs)
    if not named and not failed and not unused:
        raise FttError("nothing to remove was named", given="no run", allowed="ids of runs, --failed or --unused")
    chosen = {find_run(folder, name) for name in named}
    if failed:
        chosen |= {folder.runs.root / row["run_id"] for row in folder.runs.states() if row["state"] == "failed"}
    removed = remove_runs(sorted(chosen), dry_run=dry_run)
    if unused:
        removed.add(remove_unused(folder, without=removed.runs, dry_run=dry_run))
    return removed


def write_report(
    runs: Names | Sequence[Result] | Result | None = None,
    *,
    where: str | None = None,
    out: Path | str = "report.html",
    title: str = "",
    command: str = "",
    notes: Sequence[str] = (),
    home: Folder = None,
) -> Path:
    """Write one page about finished runs: an HTML file that opens without a network.

    Parameters
    ----------
    runs : str, Result, or sequence of them, optional
        Ids of runs (or their first digits), the path of a sweep file, or results; by default every finished run.
    where : str, optional
        A condition in SQL, as for `results`; not together with results.
    out : path
        The page.
    title, command : str
        What the page is called, and the command that it says makes it again.
    notes : sequence of str
        Sentences below the takeaway.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> result = run("digits", recipe="init", core_noise=0.2, home=folder)
    >>> write_report(result, out=folder / "page.html", home=folder).name
    'page.html'
    """
    from ftt.report.page import write
    from ftt.result import Result
    from ftt.runs.reporting import report_page
    from ftt.runs.selection import finished_runs

    folder, target = as_home(home), _path("out", out)
    given = [runs] if isinstance(runs, str | Result) else list(runs or ())
    results = [one for one in given if isinstance(one, Result)]
    if not results:
        found = finished_runs(folder, [str(one) for one in given], where)
        results, notes = found.results, [*notes, *found.notes]
    elif len(results) < len(given) or where is not None:
        raise FttError("results cannot be mixed with ids or conditions", given=repr(where or given)[:80])
    return write(target, report_page(results, folder, command=command, title=title, notes=notes))


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
    if isinstance(cache, str | PathLike) or not hasattr(cache, "keep_rows"):
        return ArtifactStore(_path("cache", cache))
    return cache


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
