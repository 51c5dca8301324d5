"""Run one experiment, several side by side, or only a fit; and plan what that would take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftt.api.arguments import Folder, as_cache, as_home, as_resources
from ftt.caching import Cache
from ftt.errors import FttError
from ftt.launch import ALL, Resources, launch
from ftt.recipe import Recipe, as_recipe
from ftt.screen import shows_progress
from ftt.spec import Spec, Training, checked_seed

if TYPE_CHECKING:
    from ftt.data import GroupedData
    from ftt.result import Result
    from ftt.runs.callbacks import Callback
    from ftt.runs.comparison import Comparison
    from ftt.runs.plan import Plan
    from ftt.train import FreezeThenTrain
    from ftt.train.machine import Machine


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
    return planned(listed, as_home(home), as_resources(resources).divide(len(listed))[0])


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
    services = Services(cache=as_cache(cache))
    return fit_model(data, recipe, backbone, training=chosen, seed=checked_seed(seed), services=services)
