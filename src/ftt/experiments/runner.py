"""Spec in, result out: the whole pipeline once, or the stored result of an earlier time."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from ftt.caching import Artifact, Cache
from ftt.data import Dataset, GroupedData, Places, Split
from ftt.errors import FttError
from ftt.experiments.overview import noises
from ftt.freeze.base import Basis, Freezer, Projection
from ftt.freeze.pca import PCA
from ftt.methods.base import Method
from ftt.metrics import group_report
from ftt.params import Json, digest
from ftt.probe.dfr import DFRProbe
from ftt.progress import say
from ftt.spec import FORMAT, Spec
from ftt.store import Home, ReadOnly
from ftt.train import FreezeThenTrain, Recipe, fit
from ftt.train.checkpoint import CheckpointFile
from ftt.train.machine import Machine
from ftt.version import __version__

T = TypeVar("T")


def run(spec: Spec, home: Home, places: Places, machine: Machine | None = None) -> dict[str, Json]:
    """Run a Spec, or return what running it gave before.

    The result is plain JSON; ``from_store`` says which of the two happened.
    """
    if (found := home.runs.find(spec)) is not None:
        return {**found, "from_store": True}
    machine = machine or Machine()
    # Loaded before the run is noted down: data that cannot be used leaves no trace of a run.
    data = cast(Dataset, spec.data).load(places)
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
    probe, complaints = _timed(seconds, "probe", lambda: _probe(spec, phi, data))
    report = group_report(probe, shown, data["test"])
    return {
        "run_id": spec.run_id,
        "key": spec.key,
        "format": FORMAT,
        "version": __version__,
        "spec": spec.describe(),
        **report.to_json(),
        "probe": {
            "C": probe.C_,
            "at_edge": probe.at_edge_,
            "converged": probe.converged_,
            "worst_by_C": {f"{C:g}": score for C, score in probe.worst_by_C_.items()},
            "dims": int(phi.shape[1]),
            "warnings": complaints,
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
        phi = self.model.transform(split, self.depth)
        return self.projection(phi) if self.projection else phi


def _probe(spec: Spec, phi: npt.NDArray[np.float32], data: GroupedData) -> tuple[DFRProbe, list[str]]:
    settings = spec.probe
    probe = DFRProbe(
        settings.grid,
        settings.repeats,
        settings.averages,
        penalty=settings.penalty,
        groups=settings.groups,
        scale=settings.scale,
        random_state=settings.seed,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        probe.fit(phi, data["val"].y, attribute=data["val"].a)
    complaints = [str(warning.message) for warning in caught]
    if probe.at_edge_:
        complaints.append(f"C = {probe.C_:g} is the smallest of the grid; a smaller one may be better")
    for complaint in complaints:
        say(complaint)
    return probe, complaints


def _timed(seconds: dict[str, float], stage: str, work: Callable[[], T]) -> T:
    start = time.perf_counter()
    out = work()
    seconds[stage] = round(time.perf_counter() - start, 3)
    return out
