"""How long will it take: a few steps are timed before many runs are started."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from torch import nn

from ftt import backbones
from ftt.data import Dataset, Roots
from ftt.methods.base import Method
from ftt.params import digest
from ftt.spec import Probing, Spec
from ftt.train.network import build

ROWS = 32
REPEATS = 3


@dataclass(frozen=True)
class Cost:
    """Seconds an image costs in training and in a forward pass, and how many images there are."""

    training: float
    forward: float
    train_rows: int
    rows: int


def pilot(spec: Spec, roots: Roots) -> Cost:
    """Time a few training steps and forward passes of a run, on its own data and backbone."""
    data = cast(Dataset, spec.data).load(roots)
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
    """Seconds of one worker for runs that have no result yet.

    At most: features and trainings that earlier runs left in the store are not known here.
    """
    costs: dict[str, Cost] = {}
    seen: set[str] = set()
    total = 0.0
    for spec in pending:
        kind = digest({**spec.data.identity(), "seed": 0, "core_noise": 0, "spurious_noise": 0}, spec.backbone)
        if kind not in costs:
            costs[kind] = pilot(spec, roots)
        cost = costs[kind]
        features = digest(spec.data.identity(), spec.backbone)
        if features not in seen:
            seen.add(features)
            total += cost.rows * cost.forward
        # Runs that differ in their probing only share one training.
        training = digest(replace(spec, probe=Probing()).describe())
        if spec.method is not None and training not in seen:
            seen.add(training)
            total += _images(spec, cost.train_rows) * cost.training + cost.rows * cost.forward
    return total


def _images(spec: Spec, rows: int) -> int:
    if spec.train.steps is not None:
        return spec.train.steps * spec.train.batch_size
    return rows * sum(stage.epochs for stage in cast(Method, spec.method).stages(spec.train.epochs))


def _seconds(work: object) -> float:
    assert callable(work)
    work()
    start = time.perf_counter()
    for _ in range(REPEATS):
        work()
    return (time.perf_counter() - start) / REPEATS
