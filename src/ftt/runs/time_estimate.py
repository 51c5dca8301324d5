"""What runs will compute, and how long it will take: a few steps are timed before many runs are started."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from ftt import backbones, registry, threads
from ftt.backbones.extract import features_key
from ftt.data import GroupedData, Roots
from ftt.data.dataset import NotPlacedError
from ftt.params import digest
from ftt.recipe import Recipe
from ftt.runs.side_by_side import side_by_side
from ftt.runs.stand_in import architecture, sample_of
from ftt.spec import Spec
from ftt.store import Home
from ftt.train.fitting import job_of
from ftt.train.two_branch import build

ROWS = 32
REPEATS = 3
BACKWARD = 3
"""A training step costs about three times the operations of its forward pass."""


@dataclass(frozen=True)
class Cost:
    """Seconds per image in training and in a forward pass, and the number of images."""

    training: float
    forward: float
    train_rows: int
    rows: int


@dataclass(frozen=True)
class Work:
    """One thing to compute: the features of a data set, or one training, whichever runs share it.

    Attributes
    ----------
    kind : {"features", "training"}
    name : str
        Data, backbone, and of a training what is trained with which seed.
    seconds : float
        How long it takes in one process.
    operations : float
        Floating-point operations of forward and backward passes.
    stored : bool
        Whether an earlier run has left it in the store.
    resumes : bool
        Whether an interrupted run has left a checkpoint of it.
    """

    kind: str
    name: str
    seconds: float
    operations: float = 0.0
    stored: bool = False
    resumes: bool = False


def pilot(spec: Spec, roots: Roots) -> Cost:
    """Time a few training steps and forward passes of a run, on its own data and backbone."""
    sample = sample_of(spec.data, roots)
    backbone = architecture(spec.backbone, sample.inputs, roots)
    rows = np.arange(min(ROWS, len(sample.y)))
    x = backbone.prepare(sample.inputs.read(rows))
    y = torch.from_numpy(sample.y[rows])
    network = build(backbone, 0, sample.n_classes, 0).train()
    frozen = torch.zeros(len(rows), 0)

    def step() -> None:
        nn.functional.cross_entropy(network(x, frozen), y).backward()  # type: ignore[no-untyped-call]

    def look() -> None:
        with torch.inference_mode():
            backbone(backbone.prepare(sample.inputs.read(rows)))

    backbone.eval()
    return Cost(_seconds(step) / len(rows), _seconds(look) / len(rows), sample.train_rows, sample.rows)


def operations_of(spec: Spec, roots: Roots) -> float:
    """Floating-point operations of the forward pass of one input."""
    from torch.utils.flop_counter import FlopCounterMode

    inputs = sample_of(spec.data, roots).inputs
    backbone = architecture(spec.backbone, inputs, roots).eval()
    x = backbone.prepare(inputs.read(np.arange(1)))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        backbone(x)
    return float(counter.get_total_flops())


def estimate(pending: Sequence[Spec], roots: Roots, *, at_once: int = 1) -> float:
    """Seconds until runs that have no result yet are done, with `at_once` of them side by side.

    An upper bound: features and trainings that earlier runs left in the store are not taken into account.
    """
    return side_by_side(costs(pending, roots), at_once) * slowdown(at_once)


def costs(pending: Sequence[Spec], roots: Roots) -> list[float]:
    """Seconds of every run; what several of them share is counted for the first."""
    seconds = [0.0] * len(pending)
    for number, work, _ in _works(pending, roots):
        seconds[number] += work.seconds
    return seconds


def works(pending: Sequence[Spec], home: Home) -> list[Work]:
    """What these runs compute, each thing once; what the store has already is marked."""
    loaded: dict[str, GroupedData | None] = {}
    found = []
    for number, work, training in _works(pending, home.roots, count=operations_of):
        spec = pending[number]
        kind = digest(spec.data.describe())
        if kind not in loaded:
            loaded[kind] = _if_here(spec, home.roots)
        data = loaded[kind]
        found.append(work if data is None else _looked_up(work, spec, training, data, home))
    return found


def _if_here(spec: Spec, roots: Roots) -> GroupedData | None:
    """The data of a run; None where they or the weights are missing, so that nothing of it can be in the store."""
    try:
        return None if backbones.missing(spec.backbone, roots) else spec.data.load(roots)
    except NotPlacedError:
        return None


def all_trained(spec: Spec, home: Home) -> bool:
    """Whether every training of a run is in the store; False where that cannot be known beforehand."""
    data = _if_here(spec, home.roots)
    if data is None:
        return False
    works = (Work("training", name, 0.0) for name in _trainings(spec.recipe).values())
    return all(_looked_up(work, spec, work.name, data, home).stored for work in works)


def _looked_up(work: Work, spec: Spec, training: str, data: GroupedData, home: Home) -> Work:
    if work.kind == "features":
        backbone = backbones.create(spec.backbone, data["train"].inputs)
        keys = [features_key(backbone, data[split].inputs) for split in ("val", "test")]
        return replace(work, stored=all(home.artifacts.has("features", key) for key in keys))
    recipe = _trained_alone(spec.recipe) if training == OWN else ERM_ALONE if training == "trained" else None
    if recipe is None:
        # What is taught, or trained on the target, depends on labels that are not known beforehand.
        return work
    key = job_of(data, recipe, spec.backbone, training=spec.train, seed=spec.seed).key(recipe)
    return replace(work, stored=home.artifacts.has("trained", key), resumes=home.checkpoint_folder(key).is_dir())


def _works(
    pending: Sequence[Spec], roots: Roots, count: Callable[[Spec, Roots], float] = lambda *_: 0.0
) -> Iterator[tuple[int, Work, str]]:
    """Everything to compute, with the number of the first Spec that needs it and the name of its training."""
    measured: dict[str, tuple[Cost, float]] = {}
    seen: set[str] = set()
    for number, spec in enumerate(pending):
        kind = digest(
            {**spec.data.identity(), **dict.fromkeys(("seed", "core_noise", "spurious_noise"))}, spec.backbone
        )
        if kind not in measured:
            measured[kind] = pilot(spec, roots), count(spec, roots)
        (cost, operations), where = measured[kind], f"{spec.data.name}, {spec.backbone}"
        features = digest(spec.data.identity(), spec.backbone)
        # Plain training does not look at the initial features.
        if features not in seen and (spec.recipe.method is None or spec.recipe.freeze is not None):
            seen.add(features)
            yield number, Work("features", where, cost.rows * cost.forward, cost.rows * operations), ""
        for identity, name in _trainings(spec.recipe).items():
            training = digest(features, identity, spec.train.identity(), spec.seed)
            if training not in seen:
                seen.add(training)
                images = _images(spec, cost.train_rows)
                seconds = images * cost.training + cost.rows * cost.forward
                passes = BACKWARD * images + cost.rows
                called = _trained_alone(spec.recipe).name if name == OWN else "erm" if name == "trained" else name
                yield (
                    number,
                    Work("training", f"{where}: {called}, seed {spec.seed}", seconds, passes * operations),
                    name,
                )


def slowdown(at_once: int) -> float:
    """How much slower a run becomes with others beside it: they share memory, and sometimes cores."""
    if at_once == 1:
        return 1.0
    square, stream = torch.ones(512, 512), torch.ones(1 << 22)

    def work() -> float:
        # Arithmetic and memory in long operations that leave the interpreter free, unlike the short ones of a network.
        return _seconds(lambda: [(square @ square, stream * 2) for _ in range(4)], time.thread_time)

    alone = work()
    with ThreadPoolExecutor(at_once) as pool:
        together = max(pool.map(lambda _: work(), range(at_once)))
    shared = at_once * torch.get_num_threads() / threads.available()
    return max(1.0, together / alone) * max(1.0, shared)


OWN = "own"
"""The training that freezer and method of a recipe ask for; others have the names that sources give them."""


ERM_ALONE = Recipe(None, registry.METHODS.build({"name": "erm"}))


def _trainings(recipe: Recipe) -> dict[str, str]:
    """Trainings of a recipe by what tells them apart: those that differ in probing only, and all late joins, share one.

    The values are their names: `OWN`, or those that sources give them.
    """
    names = {name: name for source in recipe.sources for name in source.trainings}
    if recipe.method is not None:
        alone = _trained_alone(recipe)
        names["trained" if alone == ERM_ALONE else digest(alone.identity())] = OWN
    return names


def _trained_alone(recipe: Recipe) -> Recipe:
    """What is trained for a recipe of a freezer and a method."""
    return Recipe(recipe.freeze if recipe.join == "joint" else None, recipe.method)


def _images(spec: Spec, rows: int) -> int:
    if spec.train.steps is not None:
        return spec.train.steps * spec.train.batch_size
    method = spec.recipe.method
    return rows * (sum(stage.epochs for stage in method.stages(spec.train.epochs)) if method else spec.train.epochs)


def _seconds(work: Callable[[], object], clock: Callable[[], float] | None = None) -> float:
    """How long something takes; by default in CPU time if it has one thread, which other processes hardly change."""
    clock = clock or (time.process_time if torch.get_num_threads() == 1 else time.perf_counter)
    work()
    taken = []
    for _ in range(REPEATS):
        start = clock()
        work()
        taken.append(clock() - start)
    # The least of them: whatever else the machine was doing only adds.
    return min(taken)


def in_words(seconds: float) -> str:
    """A duration as people say it.

    Examples
    --------
    >>> in_words(40), in_words(600), in_words(9000)
    ('0.7 min', '10.0 min', '2.5 h')
    """
    return f"{seconds / 3600:.1f} h" if seconds > 5400 else f"{max(seconds / 60, 0.1):.1f} min"
