"""Training on random views that a thread draws while a step is taken, beside drawing them between steps.

FTT with the views of DomainBed: images are cropped, mirrored and recoloured, and the frozen branch sees every view.
Wall time of a training with one thread, where a core is to spare.

python -m benchmarks.harness reading_ahead
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from torch.nn.functional import cross_entropy

from ftt.backbones.lite0 import Lite0
from ftt.data import ArrayInputs
from ftt.data.grouped import DatasetInfo, Fittable
from ftt.freed_memory import reuse_freed_memory
from ftt.freeze.freezer import Projection
from ftt.rows import InMemory
from ftt.spec import Training
from ftt.train.batches import WHOLE, Batches, Frozen, Loaded
from ftt.train.fitting import FrozenBranch
from ftt.train.loop import make_optimizer
from ftt.train.two_branch import build

BATCH = 64


def rows(quick: bool) -> list[dict[str, Any]]:
    """One row: median wall time of an epoch, the two ways in turns."""
    size, steps, turns = (32, 2, 1) if quick else (96, 8, 3)
    reuse_freed_memory()
    rng, n = np.random.default_rng(0), steps * BATCH
    a = np.arange(n) % 2
    inputs = ArrayInputs(rng.integers(0, 256, (n, size, size, 3), dtype=np.uint8), "images")
    split = Fittable("train", inputs, a, a.astype(str), DatasetInfo("noise", ("0", "1"), ("0", "1"), ""), y=a)
    backbone, training = Lite0().eval(), Training(batch_size=BATCH, lr=1e-3, augment="domainbed")
    m = backbone.num_features
    weight = rng.standard_normal((m, m // 4), dtype=np.float32) / np.float32(np.sqrt(m))
    branch = FrozenBranch(backbone, Projection(weight, np.zeros(m // 4, dtype=np.float32), 1.0))
    batches = Batches(split, backbone, Frozen(InMemory(np.zeros((n, 0), dtype=np.float32)), branch), training)
    network = build(backbone, m // 4, 2, seed=0).train()
    optimizer = make_optimizer(network, training)
    order = batches.order(np.arange(n), 0, 0)

    def epoch(load: Callable[[], Iterator[Loaded]]) -> float:
        start = time.perf_counter()
        for loaded in load():
            cross_entropy(network(loaded.x, loaded.frozen), loaded.y).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return (time.perf_counter() - start) / steps

    ways = {
        "between": lambda: batches._made(order, 0, 0, 0, WHOLE),
        "ahead": lambda: batches.load(order, 0, 0),
    }
    epoch(ways["ahead"])
    taken = [{name: epoch(way) for name, way in ways.items()} for _ in range(turns)]
    between, reading = (statistics.median(turn[name] for turn in taken) for name in ways)
    return [
        {
            "stage": f"FTT step on DomainBed's views at {size}×{size}, read ahead (wall time)",
            "baseline": "views drawn between steps, one thread as well",
            "ratio": between / reading,
            "quality": f"{1e3 * between:.0f} and {1e3 * reading:.0f} ms a step of {BATCH}; {os.cpu_count()} cores, "
            f"load {os.getloadavg()[0]:.1f} at the end",
        }
    ]
