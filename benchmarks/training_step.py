"""A training step as a run takes it, beside the loop it replaced: fast layers, and memory that is used again.

What becomes of freed memory is a matter of the whole process, so each arm runs in a process of its own; pairs of
processes take turns. `benchmarks.training` measures the layers alone.

python -m benchmarks.harness training_step
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from typing import Any

import numpy as np
import torch

from benchmarks.training import medians, step_of
from ftt.backbones.lite0 import Lite0
from ftt.freed_memory import reuse_freed_memory
from ftt.spec import Training
from ftt.threads import limited_to
from ftt.train.loop import make_optimizer
from ftt.train.two_branch import build

BATCH = 64
ARMS = ("before", "now")


def rows(quick: bool) -> list[dict[str, Any]]:
    """EfficientNet-Lite0 at two sizes; median of the ratios of some pairs of processes."""
    pairs, steps = (1, 3) if quick else (5, 9)
    return [_row(height, width, target, pairs, steps) for height, width, target in ((64, 32, 1.8), (96, 96, 1.2))]


def _row(height: int, width: int, target: float, pairs: int, steps: int) -> dict[str, Any]:
    taken = [{arm: _apart(arm, height, width, steps) for arm in ARMS} for _ in range(pairs)]
    ratios = [pair["before"]["seconds"] / pair["now"]["seconds"] for pair in taken]
    losses = {arm: taken[0][arm]["loss"] for arm in ARMS}
    return {
        "stage": f"training step of a run, EfficientNet-Lite0 at {height}×{width}",
        "baseline": "the loop before: layers of torch and timm, channels_last, fused SGD, freed memory returned",
        "ratio": statistics.median(ratios),
        "target": target,
        "quality": (
            f"batch {BATCH}; {min(ratios):.2f} to {max(ratios):.2f} in {pairs} pairs of processes, {steps} steps each; "
            f"loss after them {losses['before']:.5f} and {losses['now']:.5f}"
        ),
    }


def _apart(arm: str, height: int, width: int, steps: int) -> dict[str, float]:
    words = [sys.executable, "-m", "benchmarks.training_step", arm, str(height), str(width), str(steps)]
    found: dict[str, float] = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return found


def take(arm: str, size: tuple[int, int], steps: int) -> dict[str, float]:
    """Median CPU seconds of a step in this process, and the loss of the network afterwards."""
    images = np.random.default_rng(0).integers(0, 256, (BATCH, *size, 3), dtype=np.uint8)
    backbone = Lite0()
    if arm == "now":
        reuse_freed_memory()
    else:
        backbone = backbone.exportable()
    network = build(backbone, 0, 2, seed=0)
    optimizer = make_optimizer(network, Training(lr=1e-3, weight_decay=0))
    labels, none = torch.from_numpy(np.arange(BATCH) % 2), torch.zeros(BATCH, 0)
    step = step_of(network, optimizer, lambda: backbone.prepare(images), labels, lambda x: none)
    seconds = medians({arm: step}, steps)[arm]
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(network(backbone.prepare(images), none), labels)
    return {"seconds": seconds, "loss": float(loss)}


if __name__ == "__main__":
    with limited_to(1):
        print(json.dumps(take(sys.argv[1], (int(sys.argv[2]), int(sys.argv[3])), int(sys.argv[4]))))
