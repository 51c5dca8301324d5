"""Spec in, Result out: the whole pipeline once, or the stored result of an earlier time."""

from __future__ import annotations

import hashlib
import platform
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ftt import backbones, compiled
from ftt.arrays import Float32Array, pack
from ftt.caching import Artifact, Cache
from ftt.data import GroupedData, Split
from ftt.data.overview import noises
from ftt.errors import FttError
from ftt.freeze.freezer import Basis, Projection
from ftt.freeze.pca import PCA
from ftt.metrics import predict, report_on
from ftt.params import Json, digest
from ftt.probe import DFRProbe, fit_together
from ftt.result import ONE_CLASS, Judged, ProbeResult, Result
from ftt.rows import InMemory, Mapped, Rows
from ftt.runs.callbacks import Callback, Told, chosen, telling
from ftt.runs.own_head import NOT_RETRAINED, OwnHead
from ftt.spec import Probing, Run, Spec
from ftt.store import Home, ReadOnly
from ftt.store.used import Recording
from ftt.train import FreezeThenTrain, Services, fit
from ftt.train.checkpoint import CheckpointFile
from ftt.train.machine import Machine

HELD = 2**28
"""Bytes up to which the features of a split are held in memory between probing and evaluation."""


def run_spec(
    spec: Spec, home: Home, machine: Machine | None = None, callbacks: Sequence[Callback] | None = None
) -> Result:
    """Run a Spec, or return the stored result; `Result.from_store` says which of the two happened.

    Callbacks are told about both; by default those that ``FTT_LOG`` names.
    """
    callbacks = chosen(home.root) if callbacks is None else callbacks
    run = spec.identify(home.roots)
    if (found := home.runs.find(run)) is not None:
        with telling(run, callbacks) as told:
            told.end(found)
        return found
    machine = machine or Machine()
    machine.check(spec.train.precision if spec.recipe.trains else "32-true")
    # Loaded before the run is recorded: data that cannot be used leaves no trace of a run.
    data = spec.data.load(home.roots)
    if backbones.missing(spec.backbone, home.roots):
        # Published weights are fetched when they are first used; only then is their content known.
        backbones.create(spec.backbone, data["train"].inputs)
        run = spec.identify(home.roots)
    if machine.several and machine.fabric().global_rank > 0:
        # A helper of a training over several processes: it takes no locks, writes nothing and prints nothing.
        _compute(run, data, home, Services(ReadOnly(home.artifacts), machine=machine))
        raise SystemExit(0)
    with home.runs.begin(run), telling(run, callbacks) as told:
        # Whoever held the lock before may have finished it.
        if (result := home.runs.find(run)) is None:
            result = _make(run, data, home, machine, told)
        told.end(result)
    return result


def _make(run: Run, data: GroupedData, home: Home, machine: Machine, told: Told) -> Result:
    """Compute the result of a run that has none, and keep it."""

    def on_epoch(log: list[dict[str, Any]]) -> None:
        home.runs.write_log(run, log)
        told.epochs(log)

    services = Services(
        cache=Recording(home.artifacts, home.runs.folder(run)),
        checkpoints=lambda key: CheckpointFile(home.checkpoint_folder(key)),
        machine=machine,
        on_epoch=on_epoch,
    )
    try:
        result = _compute(run, data, home, services)
    except FttError:
        home.runs.forget(run)
        raise
    home.runs.finish(run, result)
    return result


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
    predictions = [predict(probe, view, data["test"]) for probe in probes]
    result = Result(
        run=run,
        probes=tuple(
            ProbeResult(
                seed=seed,
                C=probe.C_,
                at_edge=probe.at_edge_,
                converged=probe.converged_,
                worst_by_C=probe.worst_by_C_,
                report=report_on(predicted, data["test"]),
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
        train_rows=tuple(tuple(row) for row in data.counts("train").tolist()),
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
        self._computed: dict[str, Rows] = {}

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
        return int(self.rows(self.data["val"]).shape[1])

    def transform(self, split: Split) -> Float32Array:
        """(n, dims) features of a split."""
        return self.rows(split).array()

    def rows(self, split: Split) -> Rows:
        """The features read by rows; those of a small split are computed once, since every probe seed needs them."""
        if split.name not in self._computed:
            phi = self.model.rows(split, self.probing.depth)
            if self.projection is not None:
                phi = Mapped(phi, self.projection, self.projection.weight.shape[1])
            small = len(phi) * phi.shape[1] * 4 <= HELD
            self._computed[split.name] = InMemory(phi.array()) if small else phi
        return self._computed[split.name]

    @cached_property
    def projection(self) -> Projection | None:
        """The first principal components where they are wanted; labels are not looked at.

        One rotation serves every number of dimensions.
        """
        wanted = self.probing.dims
        if wanted is None:
            return None
        split = self.data["train"] if self.probing.dims_from == "train" else self.data["val"]
        phi = self.model.rows(split, self.probing.depth)
        if wanted > phi.shape[1]:
            raise FttError("there are fewer features than dims", given=wanted, allowed=f"1 <= dims <= {phi.shape[1]}")
        sha = hashlib.sha256()
        for block in phi.blocks():
            sha.update(np.ascontiguousarray(block).data)
        key = digest("probe dims", sha.hexdigest())
        kept = self.cache.keep("basis", key, lambda: Artifact(PCA().basis(phi.blocks(), phi.shape[1]).to_arrays()))
        return Basis.from_arrays(kept.arrays).first(wanted)


def probe_features(view: ProbedFeatures, data: GroupedData) -> tuple[Sequence[DFRProbe | OwnHead], list[str]]:
    """The probes of all seeds, and what the reader should know about them."""
    probing = view.probing
    if probing.last_layer == "trained":
        return [OwnHead.of(view.model, probing)], [NOT_RETRAINED]
    probes = [
        DFRProbe(
            probing.grid,
            probing.repeats,
            probing.averages,
            penalty=probing.penalty,
            groups=probing.groups,
            scale=probing.scale,
            max_iter=probing.max_iter,
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
        "kernels": compiled.library("float32") is not None,
    }
