"""How long runs will take: a few steps are timed before many runs are started."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from ftt import backbones
from ftt.data import Roots
from ftt.params import digest
from ftt.recipe import Recipe
from ftt.spec import Spec
from ftt.train.two_branch import build

ROWS = 32
REPEATS = 3


@dataclass(frozen=True)
class Cost:
    """Seconds per image in training and in a forward pass, and the number of images."""

    training: float
    forward: float
    train_rows: int
    rows: int


def pilot(spec: Spec, roots: Roots) -> Cost:
    """Time a few training steps and forward passes of a run, on its own data and backbone."""
    data = spec.data.load(roots)
    split = data["train"]
    backbone = backbones.create(spec.backbone, split.inputs)
    rows = np.arange(min(ROWS, len(split)))
    x = backbone.prepare(split.inputs.read(rows))
    y = torch.from_numpy(split.y[rows])
    network = build(backbone, 0, data.n_classes, 0).train()
    frozen = torch.zeros(len(rows), 0)

    def step() -> None:
        nn.functional.cross_entropy(network(x, frozen), y).backward()  # type: ignore[no-untyped-call]

    def look() -> None:
        with torch.inference_mode():
            backbone(backbone.prepare(split.inputs.read(rows)))

    backbone.eval()
    return Cost(_seconds(step) / len(rows), _seconds(look) / len(rows), len(split), len(data))


def estimate(pending: Sequence[Spec], roots: Roots) -> float:
    """Seconds one worker needs for runs that have no result yet.

    An upper bound: features and trainings that earlier runs left in the store are not taken into account.
    """
    costs: dict[str, Cost] = {}
    seen: set[str] = set()
    total = 0.0
    for spec in pending:
        kind = digest(
            {**spec.data.identity(), **dict.fromkeys(("seed", "core_noise", "spurious_noise"))}, spec.backbone
        )
        if kind not in costs:
            costs[kind] = pilot(spec, roots)
        cost = costs[kind]
        features = digest(spec.data.identity(), spec.backbone)
        if features not in seen:
            seen.add(features)
            total += cost.rows * cost.forward
        for name in _trainings(spec.recipe):
            training = digest(features, name, spec.train.identity(), spec.seed)
            if training not in seen:
                seen.add(training)
                total += _images(spec, cost.train_rows) * cost.training + cost.rows * cost.forward
    return total


def _trainings(recipe: Recipe) -> set[str]:
    """Names of the trainings of a recipe: those that differ in probing only share one, and so do all late joins."""
    names = {name for source in recipe.sources for name in source.trainings}
    if recipe.method is not None:
        alone = Recipe(recipe.freeze if recipe.join == "joint" else None, recipe.method)
        names.add("trained" if alone.name == "erm" else digest(alone.identity()))
    return names


def _images(spec: Spec, rows: int) -> int:
    if spec.train.steps is not None:
        return spec.train.steps * spec.train.batch_size
    method = spec.recipe.method
    return rows * (sum(stage.epochs for stage in method.stages(spec.train.epochs)) if method else spec.train.epochs)


def _seconds(work: Callable[[], None]) -> float:
    work()
    start = time.perf_counter()
    for _ in range(REPEATS):
        work()
    return (time.perf_counter() - start) / REPEATS


def in_words(seconds: float) -> str:
    """A duration as people say it.

    Examples
    --------
    >>> in_words(40), in_words(600), in_words(9000)
    ('0.7 min', '10.0 min', '2.5 h')
    """
    return f"{seconds / 3600:.1f} h" if seconds > 5400 else f"{max(seconds / 60, 0.1):.1f} min"
