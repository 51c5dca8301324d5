"""Spec in, Result out: the whole pipeline once, or the stored result of an earlier time."""

from __future__ import annotations

import hashlib
import platform
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ftt import backbones
from ftt.arrays import Float32Array, pack
from ftt.caching import Artifact, Cache
from ftt.data import GroupedData, Split
from ftt.data.overview import noises
from ftt.errors import FttError
from ftt.freeze.freezer import Basis, Projection
from ftt.freeze.pca import PCA
from ftt.metrics import group_report
from ftt.params import Json, digest
from ftt.probe import DFRProbe, fit_together
from ftt.result import ONE_CLASS, Judged, ProbeResult, Result
from ftt.spec import Probing, Run, Spec
from ftt.store import Home, ReadOnly
from ftt.train import FreezeThenTrain, Services, fit
from ftt.train.checkpoint import CheckpointFile
from ftt.train.machine import Machine


def run_spec(spec: Spec, home: Home, machine: Machine | None = None) -> Result:
    """Run a Spec, or return the stored result; `Result.from_store` says which of the two happened."""
    run = spec.identify(home.roots)
    if (found := home.runs.find(run)) is not None:
        return found
    machine = machine or Machine()
    machine.check(spec.train.precision if spec.recipe.trains else "32-true")
    # Loaded before the run is recorded: data that cannot be used leaves no trace of a run.
    data = spec.data.load(home.roots)
    if _lacks_weights(spec, home):
        # Published weights are fetched when they are first used; only then is their content known.
        backbones.create(spec.backbone, data["train"].inputs)
        run = spec.identify(home.roots)
    if machine.several and machine.fabric().global_rank > 0:
        # A helper of a training over several processes: it takes no locks, writes nothing and prints nothing.
        _compute(run, data, home, Services(ReadOnly(home.artifacts), machine=machine))
        raise SystemExit(0)
    services = Services(
        cache=home.artifacts,
        checkpoints=lambda key: CheckpointFile(home.checkpoint_folder(key)),
        machine=machine,
        on_epoch=lambda log: home.runs.write_log(run, log),
    )
    with home.runs.begin(run):
        # Whoever held the lock before may have finished it.
        if (found := home.runs.find(run)) is not None:
            return found
        try:
            result = _compute(run, data, home, services)
        except FttError:
            home.runs.forget(run)
            raise
        home.runs.finish(run, result)
    return result


def _lacks_weights(spec: Spec, home: Home) -> bool:
    known = backbones.fingerprint(spec.backbone, home.roots)
    return isinstance(known, Mapping) and known.get("content") is None


def _compute(run: Run, data: GroupedData, home: Home, services: Services) -> Result:
    """Freeze, train, probe, report. Files that changed since the run was identified are refused, not filed wrongly."""
    spec, clock = run.spec, Clock()
    with clock.timing("fit"):
        model = fit(data, spec.recipe, spec.backbone, training=spec.train, seed=spec.seed, services=services)
    view = ProbedFeatures(model, spec.probe, data, services.cache)
    with clock.timing("transform"):
        view.transform(data["val"])
    with clock.timing("probe"):
        probes, complaints = probe_features(view, data)
    predictions = [probe.predict(view.transform(data["test"])) for probe in probes]
    result = Result(
        run=run,
        probes=tuple(
            ProbeResult(
                seed=seed,
                C=probe.C_,
                at_edge=probe.at_edge_,
                converged=probe.converged_,
                worst_by_C=probe.worst_by_C_,
                report=group_report(probe, view, data["test"]),
                predicted=pack(predicted),
            )
            for seed, (probe, predicted) in enumerate(zip(probes, predictions, strict=True), start=spec.probe.seed)
        ),
        judged=Judged(pack(data["test"].y_clean), pack(data["test"].a)),
        dims=view.dims,
        warnings=(*complaints, *collapsed(predictions)),
        explained_variance=model.explained,
        noise=noises(data, "train"),
        train_log=model.log,
        seconds=clock.seconds,
        environment=environment(),
    )
    # Last: images may have been read until now.
    if spec.identify(home.roots).key != run.key:
        raise FttError(
            "the data or the weights changed while the run was in progress",
            given=f"{spec.data.name}, {spec.backbone}",
            allowed="files that stay as they are until a run has ended",
            hint="run the same command again",
        )
    return result


@dataclass
class Clock:
    """Wall time by stage."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[stage] = round(time.perf_counter() - start, 3)


class ProbedFeatures:
    """The features a probe is fitted on: a model's at the wanted depth, or their first principal components."""

    def __init__(self, model: FreezeThenTrain, probing: Probing, data: GroupedData, cache: Cache) -> None:
        self.model = model
        self.probing = probing
        self.data = data
        self.cache = cache
        self._computed: dict[str, Float32Array] = {}

    @property
    def blocks(self) -> tuple[int, ...] | None:
        """Widths of the blocks that get a penalty of their own."""
        if self.probing.penalties == "shared" or len(self.model.widths) == 1:
            return None
        if self.probing.dims is not None or self.probing.depth != "projected":
            raise FttError(
                "a penalty per block needs the features as they are",
                given=f"dims {self.probing.dims}, depth {self.probing.depth}",
                allowed="no --dims, depth projected",
            )
        return self.model.widths

    @property
    def dims(self) -> int:
        return int(self.transform(self.data["val"]).shape[1])

    def transform(self, split: Split) -> Float32Array:
        """(n, dims) features, computed once per split: every probe seed is fitted on the same."""
        if split.name not in self._computed:
            phi = self.model.transform(split, self.probing.depth)
            self._computed[split.name] = self._projection(phi) if self._projection else phi
        return self._computed[split.name]

    @cached_property
    def _projection(self) -> Projection | None:
        """One rotation serves every number of dimensions; labels are not looked at."""
        wanted = self.probing.dims
        if wanted is None:
            return None
        split = self.data["train"] if self.probing.dims_from == "train" else self.data["val"]
        phi = self.model.transform(split, self.probing.depth)
        if wanted > phi.shape[1]:
            raise FttError("there are fewer features than dims", given=wanted, allowed=f"1 <= dims <= {phi.shape[1]}")
        key = digest("probe dims", hashlib.sha256(np.ascontiguousarray(phi).data).hexdigest())
        kept = self.cache.keep("basis", key, lambda: Artifact(PCA().basis([phi], phi.shape[1]).to_arrays()))
        return Basis.from_arrays(kept.arrays).first(wanted)


def probe_features(view: ProbedFeatures, data: GroupedData) -> tuple[list[DFRProbe], list[str]]:
    """The probes of all seeds, and what the reader should know about them."""
    probing = view.probing
    probes = [
        DFRProbe(
            probing.grid,
            probing.repeats,
            probing.averages,
            penalty=probing.penalty,
            groups=probing.groups,
            scale=probing.scale,
            blocks=view.blocks,
            criterion=probing.criterion,
            random_state=seed,
        )
        for seed in range(probing.seed, probing.seed + probing.seeds)
    ]
    val = data["val"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit_together(probes, view.transform(val), val.y, attribute=val.a)
    complaints = list(dict.fromkeys(str(warning.message) for warning in caught))
    if edges := [probe.C_ for probe in probes if probe.at_edge_]:
        often = "" if len(probes) == 1 else f" (chosen by {len(edges)} of {len(probes)} probe seeds)"
        complaints.append(f"C = {edges[0]:g} is the smallest of the grid{often}; a smaller one may be better")
    return probes, complaints


def collapsed(predictions: Sequence[npt.NDArray[Any]]) -> list[str]:
    """What the reader should know about probes that give every test row the same class.

    Examples
    --------
    >>> collapsed([np.zeros(4), np.array([0, 1, 0, 1])])
    ['predicts one class only on test (1 of 2 probe seeds)']
    """
    count = sum(len(np.unique(predicted)) == 1 for predicted in predictions)
    often = "" if len(predictions) == 1 else f" ({count} of {len(predictions)} probe seeds)"
    return [f"{ONE_CLASS}{often}"] if count else []


def environment() -> dict[str, Json]:
    """What trained numbers move with besides the seed: versions, kernels chosen by instruction set, threads."""
    import torch

    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
    }
