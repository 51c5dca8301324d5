"""What a training step costs: FTT beside ERM, cached frozen features beside a loop that forwards both branches, and the
frozen branch itself where augmentation forbids the cache.
"""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from ftt.backbones import Backbone, create
from ftt.backbones.folding import folded
from ftt.data import ArrayInputs
from ftt.train.network import TwoBranch, build

ROWS = 128


def rows(quick: bool) -> list[dict[str, Any]]:
    """CPU time of whole training steps at one thread, p = 0.25, batches of 128, images of 64×32."""
    repeats = 3 if quick else 9
    lite0, resnet = _measure("lite0", repeats), _measure("timm-random:resnet18", repeats)
    naive, fast, apart = _frozen_branch("timm-random:resnet18", repeats)
    return [
        {
            "stage": "frozen branch with augmentation",
            "baseline": "its forward in eval mode without gradients",
            "ratio": naive / fast,
            "floor": 1.4,
            "target": 1.6,
            "quality": f"ResNet-18 at 64×32: folded, channels_last, inference mode; features differ by {apart:.0e}",
        },
        {
            "stage": "FTT training step",
            "baseline": "ERM step of the same library",
            "ratio": lite0["erm"] / lite0["ftt"],
            "floor": 1 / 1.05,
            "target": 1 / 1.02,
            "quality": f"FTT costs {lite0['ftt'] / lite0['erm']:.3f} of ERM (EfficientNet-Lite0, cached features)",
        },
        {
            "stage": "FTT training, no augmentation",
            "baseline": "a loop that forwards both branches",
            "ratio": resnet["both"] / resnet["ftt"],
            "floor": 1.3,
            "target": 1.5,
            "quality": f"ResNet-18, both arms channels_last; EfficientNet-Lite0 {lite0['both'] / lite0['ftt']:.2f}×",
        },
    ]


def _measure(name: str, repeats: int) -> dict[str, float]:
    """Seconds of one step of ERM, of FTT with cached features, and of FTT that forwards the frozen branch too."""
    images = np.random.default_rng(0).integers(0, 256, (ROWS, 64, 32, 3), dtype=np.uint8)
    backbone = create(name, ArrayInputs(images, "images"))
    labels = torch.from_numpy(np.arange(ROWS) % 2)
    frozen_dims = backbone.num_features // 4
    cached, weight = torch.randn(ROWS, frozen_dims), torch.randn(backbone.num_features, frozen_dims)
    frozen: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "erm": lambda x: torch.zeros(ROWS, 0),
        "ftt": lambda x: cached,
        "both": lambda x: _forward(backbone, x) @ weight,
    }
    steps = {
        arm: _step(build(backbone, 0 if arm == "erm" else frozen_dims, 2, seed=0), backbone, images, labels, branch)
        for arm, branch in frozen.items()
    }
    return _medians(steps, repeats)


def _frozen_branch(name: str, repeats: int) -> tuple[float, float, float]:
    """Seconds of the plain and of the folded forward, and the largest difference in units of the features' spread."""
    images = np.random.default_rng(0).integers(0, 256, (ROWS, 64, 32, 3), dtype=np.uint8)
    backbone = create(name, ArrayInputs(images, "images"))
    x = backbone.prepare(images)
    plain = copy.deepcopy(backbone).eval()
    plain.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    fast, flat = folded(backbone, x[:8]), x.contiguous()

    def folded_forward() -> None:
        with torch.inference_mode():
            fast(x)

    def plain_forward() -> None:
        _forward(plain, flat)

    medians = _medians({"plain": plain_forward, "fast": folded_forward}, repeats)
    apart = (_forward(plain, flat) - _forward(fast, x)).abs().max() / _forward(plain, flat).std()
    return medians["plain"], medians["fast"], float(apart)


def _forward(backbone: Backbone, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        out: torch.Tensor = backbone(x)
    return out


def _step(
    network: TwoBranch,
    backbone: Backbone,
    images: np.ndarray[tuple[int, ...], np.dtype[np.uint8]],
    labels: torch.Tensor,
    frozen: Callable[[torch.Tensor], torch.Tensor],
) -> Callable[[], None]:
    """One whole step: prepare, forward, backward, update."""
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9)
    network.train()
    backbone.eval()

    def step() -> None:
        x = backbone.prepare(images)
        cross_entropy(network(x, frozen(x)), labels).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def _medians(steps: dict[str, Callable[[], None]], repeats: int) -> dict[str, float]:
    """Median CPU time of each, taken in turns so that a busy machine slows all alike."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        step()
    for _ in range(repeats):
        for name, step in steps.items():
            start = time.process_time()
            step()
            times[name].append(time.process_time() - start)
    return {name: statistics.median(values) for name, values in times.items()}


if __name__ == "__main__":
    for row in rows(quick=False):
        print(row)
