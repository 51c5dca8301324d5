"""Spec in, result out: the whole pipeline once, or the stored result of an earlier time."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from ftt.caching import Artifact, Cache
from ftt.data import Dataset, GroupedData, Roots, Split
from ftt.errors import FttError
from ftt.experiments.overview import noises
from ftt.freeze.base import Basis, Freezer, Projection
from ftt.freeze.pca import PCA
from ftt.methods.base import Method
from ftt.metrics import group_report
from ftt.params import Json, digest
from ftt.probe import DFRProbe, fit_together
from ftt.progress import say
from ftt.spec import FORMAT, Spec
from ftt.store import Home, ReadOnly
from ftt.train import FreezeThenTrain, Recipe, fit
from ftt.train.checkpoint import CheckpointFile
from ftt.train.machine import Machine
from ftt.version import __version__

T = TypeVar("T")


def run(spec: Spec, home: Home, roots: Roots, machine: Machine | None = None) -> dict[str, Json]:
    """Run a Spec, or return what running it gave before.

    The result is plain JSON; ``from_store`` says which of the two happened.
    """
    if (found := home.runs.find(spec)) is not None:
        return {**found, "from_store": True}
    machine = machine or Machine()
    # Loaded before the run is noted down: data that cannot be used leaves no trace of a run.
    data = cast(Dataset, spec.data).load(roots)
    if machine.devices * machine.nodes > 1 and machine.fabric().global_rank > 0:
        # A helper of a training over several processes: it takes no locks, writes nothing and has nothing to say.
        _compute(spec, data, home, ReadOnly(home.artifacts), machine)
        raise SystemExit(0)
    with home.runs.begin(spec):
        # Whoever held the lock before may have finished it.
        if (found := home.runs.find(spec)) is not None:
            return {**found, "from_store": True}
        result = _compute(spec, data, home, home.artifacts, machine)
        home.runs.finish(spec, result)
    return {**result, "from_store": False}


def _compute(spec: Spec, data: GroupedData, home: Home, cache: Cache, machine: Machine) -> dict[str, Json]:
    seconds: dict[str, float] = {}
    recipe = Recipe(cast(Freezer | None, spec.freeze), cast(Method | None, spec.method), spec.join)
    model = _timed(
        seconds,
        "fit",
        lambda: fit(
            data,
            recipe,
            spec.backbone,
            training=spec.train,
            seed=spec.seed,
            cache=cache,
            checkpoints=lambda key: CheckpointFile(home.checkpoint_folder(key)),
            machine=machine,
            on_epoch=lambda log: home.runs.write_log(spec, log),
        ),
    )
    shown = Shown(model, spec, data, cache)
    phi = _timed(seconds, "transform", lambda: shown.transform(data["val"]))
    probes, complaints = _timed(seconds, "probe", lambda: _probe(spec, phi, data))
    reports = [group_report(probe, shown, data["test"]).to_json() for probe in probes]
    return {
        "run_id": spec.run_id,
        "key": spec.key,
        "format": FORMAT,
        "version": __version__,
        "spec": spec.describe(),
        **mean_of(reports),
        "probe": {
            "C": Counter(probe.C_ for probe in probes).most_common(1)[0][0],
            "at_edge": any(probe.at_edge_ for probe in probes),
            "converged": all(probe.converged_ for probe in probes),
            "worst_by_C": mean_of([{f"{C:g}": score for C, score in p.worst_by_C_.items()} for p in probes]),
            "dims": int(phi.shape[1]),
            "warnings": complaints,
            "seeds": [_of_seed(probe, report) for probe, report in zip(probes, reports, strict=True)],
        },
        "explained_variance": model.explained,
        "noise": noises(data, "train"),
        "train_log": model.log,
        "seconds": seconds,
    }


class Shown:
    """What the probe is shown of a model: its features at the Spec's depth, or their first principal components."""

    def __init__(self, model: FreezeThenTrain, spec: Spec, data: GroupedData, cache: Cache) -> None:
        self.model = model
        self.depth = spec.probe.depth
        self.projection: Projection | None = None
        self._seen: dict[str, npt.NDArray[np.float32]] = {}
        if spec.probe.dims is None:
            return
        # One rotation serves every number of dimensions; labels are not looked at.
        split = data["train"] if spec.probe.dims_from == "train" else data["val"]
        phi = model.transform(split, self.depth)
        if spec.probe.dims > phi.shape[1]:
            raise FttError("there are not that many features", given=spec.probe.dims, allowed=f"1..{phi.shape[1]}")
        key = digest("probe dims", hashlib.sha256(np.ascontiguousarray(phi).data).hexdigest())
        kept = cache.keep("basis", key, lambda: Artifact(PCA().basis([phi], phi.shape[1]).to_arrays()))
        self.projection = Basis.from_arrays(kept.arrays).first(spec.probe.dims)

    def transform(self, split: Split) -> npt.NDArray[np.float32]:
        """Computed once per split: every probe seed is shown the same."""
        if split.name not in self._seen:
            phi = self.model.transform(split, self.depth)
            self._seen[split.name] = self.projection(phi) if self.projection else phi
        return self._seen[split.name]


def _probe(spec: Spec, phi: npt.NDArray[np.float32], data: GroupedData) -> tuple[Sequence[DFRProbe], list[str]]:
    """The probes of all seeds, and what is to be said about them."""
    settings = spec.probe
    probes = [
        DFRProbe(
            settings.grid,
            settings.repeats,
            settings.averages,
            penalty=settings.penalty,
            groups=settings.groups,
            scale=settings.scale,
            random_state=seed,
        )
        for seed in range(settings.seed, settings.seed + settings.seeds)
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit_together(probes, phi, data["val"].y, attribute=data["val"].a)
    complaints = [str(warning.message) for warning in caught]
    if edges := [probe.C_ for probe in probes if probe.at_edge_]:
        often = "" if len(probes) == 1 else f" (chosen by {len(edges)} of {len(probes)} probe seeds)"
        complaints.append(f"C = {edges[0]:g} is the smallest of the grid{often}; a smaller one may be better")
    for complaint in complaints:
        say(complaint)
    return probes, complaints


def _of_seed(probe: DFRProbe, report: dict[str, Json]) -> dict[str, Json]:
    return {
        "seed": probe.random_state,
        "C": probe.C_,
        "worst_group_accuracy": report["worst_group_accuracy"],
        "average_accuracy": report["average_accuracy"],
        "at_edge": probe.at_edge_,
        "converged": probe.converged_,
    }


def mean_of(reports: Sequence[Json]) -> Json:
    """Reports of one shape in one: what all agree on stays, other numbers are averaged, of words the commonest wins.

    Limits of intervals are averaged too: probe seeds share the test rows, so their mean is as uncertain as each.

    Examples
    --------
    >>> mean_of([{"worst": "sea", "accuracy": 0.5, "n": 8}, {"worst": "sea", "accuracy": 0.75, "n": 8}])
    {'worst': 'sea', 'accuracy': 0.625, 'n': 8}
    """
    first = reports[0]
    if all(report == first for report in reports):
        return first
    if isinstance(first, dict):
        return {key: mean_of([report[key] for report in reports]) for key in first}
    if isinstance(first, list):
        return [mean_of(items) for items in zip(*reports, strict=True)]
    if isinstance(first, str):
        return Counter(reports).most_common(1)[0][0]
    return fmean(reports)


def _timed(seconds: dict[str, float], stage: str, work: Callable[[], T]) -> T:
    start = time.perf_counter()
    out = work()
    seconds[stage] = round(time.perf_counter() - start, 3)
    return out
