"""What a training step costs: FTT beside ERM, cached frozen features beside a loop that forwards both branches, fast
layers beside torch's own, and the frozen branch itself where augmentation forbids the cache.
"""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from ftt.backbones import Backbone, create
from ftt.backbones.folding import fused
from ftt.backbones.lite0 import Lite0
from ftt.backbones.products import linear
from ftt.data import ArrayInputs
from ftt.spec import Training
from ftt.train.loop import make_optimizer
from ftt.train.two_branch import TwoBranch, build

NAMES = {"timm-random:resnet18": "ResNet-18", "lite0": "EfficientNet-Lite0"}

Frozen = Callable[[Tensor], Tensor]
"""From a batch to its frozen features."""


def rows(quick: bool) -> list[dict[str, Any]]:
    """CPU time of whole training steps at one thread, p = 0.25, images of 64×32, batches of 128 (32 when quick)."""
    repeats, size = (3, 32) if quick else (9, 128)
    found = []
    steps = {name: _measure(name, size, repeats) for name in NAMES}
    for name, label in NAMES.items():
        found += _frozen_rows(label, *_frozen_branch(name, size, repeats))
    lite0 = steps["lite0"]
    found.append(
        {
            "stage": "FTT training step",
            "baseline": "ERM step of the same library",
            "ratio": lite0["erm"] / lite0["ftt"],
            "floor": 1 / 1.05,
            "target": 1 / 1.02,
            "quality": f"FTT costs {lite0['ftt'] / lite0['erm']:.3f} of ERM (EfficientNet-Lite0, cached features)",
        }
    )
    for name, label in NAMES.items():
        found += _step_rows(label, steps[name])
    for height, width, target in ((64, 32, 1.8), (96, 96, 1.2)):
        found.append(_layers_row((height, width), target, *_layers((height, width), size // 2, repeats)))
    return found


def _frozen_rows(label: str, seconds: dict[str, float], apart: float) -> list[dict[str, Any]]:
    quality = f"{label} at 64×32: folded, fused or channels_last, inference mode; features differ by {apart:.0e}"
    return [
        {
            "stage": f"frozen branch with augmentation, {label}",
            "baseline": "its forward in eval mode without gradients, torch's default layout (NCHW)",
            "ratio": seconds["plain"] / seconds["fast"],
            "floor": 1.4,
            "target": 1.6,
            "quality": quality,
        },
        {
            "stage": f"frozen branch with augmentation, {label}",
            "baseline": "the same in channels_last",
            "ratio": seconds["plain channels_last"] / seconds["fast"],
            "quality": quality,
        },
    ]


def _step_rows(label: str, seconds: dict[str, float]) -> list[dict[str, Any]]:
    quality = f"{label} at 64×32: frozen features looked up, channels_last, fused SGD"
    return [
        {
            "stage": f"FTT training, no augmentation, {label}",
            "baseline": "a loop that forwards both branches, torch's default layout (NCHW)",
            "ratio": seconds["both"] / seconds["ftt"],
            "floor": 1.3,
            "target": 1.5,
            "quality": quality,
        },
        {
            "stage": f"FTT training, no augmentation, {label}",
            "baseline": "the same loop in channels_last",
            "ratio": seconds["both channels_last"] / seconds["ftt"],
            "quality": quality,
        },
    ]


def _layers_row(size: tuple[int, int], target: float, seconds: dict[str, float], quality: str) -> dict[str, Any]:
    return {
        "stage": f"training step with fast layers, EfficientNet-Lite0 at {size[0]}×{size[1]}",
        "baseline": "the same step with the layers of torch and timm, channels_last, fused SGD",
        "ratio": seconds["plain"] / seconds["fast"],
        "target": target,
        "quality": quality,
    }


def _layers(size: tuple[int, int], batch: int, repeats: int) -> tuple[dict[str, float], str]:
    """Seconds of an ERM step with either kind of layer; how far the gradients differ, and how busy the processor is."""
    images = np.random.default_rng(0).integers(0, 256, (batch, *size, 3), dtype=np.uint8)
    backbone = Lite0()
    labels, none = torch.from_numpy(np.arange(batch) % 2), torch.zeros(batch, 0)
    networks = {
        "fast": build(backbone, 0, 2, seed=0).train(),
        "plain": build(backbone.exportable(), 0, 2, seed=0).train(),
    }
    gradients = {
        name: _gradient(copy.deepcopy(network), backbone.prepare(images)) for name, network in networks.items()
    }
    exact = _gradient(copy.deepcopy(networks["plain"]).double(), backbone.prepare(images).double())
    with FlopCounterMode(display=False) as counter:
        copy.deepcopy(networks["plain"])(backbone.prepare(images), none)
    # A backward pass takes twice the operations; the counter is wrong for grouped ones.
    operations = 3 * counter.get_total_flops()
    square = torch.randn(1024, 1024)
    steps: dict[str, Callable[[], Any]] = {"product": lambda: linear(square, square)}
    for name, network in networks.items():
        optimizer = make_optimizer(network, Training(lr=1e-3, weight_decay=0))
        steps[name] = step_of(network, optimizer, lambda: backbone.prepare(images), labels, lambda x: none)
    seconds = medians(steps, repeats)
    peak = 2 * 1024**3 / seconds["product"]
    busy = {name: operations / seconds[name] / peak for name in networks}
    apart = {name: float((gradient - exact).norm() / exact.norm()) for name, gradient in gradients.items()}
    return seconds, (
        f"batch {batch}; the gradient differs from that in double precision by {apart['fast']:.1e} of its norm, by "
        f"{apart['plain']:.1e} with torch's layers; {busy['plain']:.0%} → {busy['fast']:.0%} of the speed of a large "
        f"matrix product ({peak / 1e9:.0f} GFLOP/s)"
    )


def _gradient(network: TwoBranch, x: Tensor) -> Tensor:
    """The gradient with respect to all weights, in double precision whatever it was computed in."""
    logits = network(x, x.new_zeros(len(x), 0))
    cross_entropy(logits, torch.arange(len(x)) % 2).backward()  # type: ignore[no-untyped-call]
    return torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None]).double()


def _measure(name: str, size: int, repeats: int) -> dict[str, float]:
    """Seconds of one step: ERM and FTT with cached features as the library takes them, and loops over both branches.

    The loops are what the paper describes, in plain torch: frozen branch in eval mode without gradients, both networks
    forwarded at every step.
    """
    images = np.random.default_rng(0).integers(0, 256, (size, 64, 32, 3), dtype=np.uint8)
    backbone = create(name, ArrayInputs(images, "images")).eval()
    labels = torch.from_numpy(np.arange(size) % 2)
    dims = backbone.num_features // 4
    cached, weight = torch.randn(size, dims), torch.randn(backbone.num_features, dims)
    torchs: Any = backbone.exportable()
    plain = _in_layout(torchs, torch.contiguous_format)

    def step(base: Backbone, frozen: Frozen, width: int, ours: bool) -> Callable[[], None]:
        network = build(base, width, 2, seed=0)
        settings = Training(lr=1e-3, weight_decay=0)
        optimizer = (
            make_optimizer(network, settings)
            if ours
            else torch.optim.SGD(network.parameters(), lr=settings.lr, momentum=settings.momentum)
        )
        layout = torch.contiguous_format if base is plain else torch.channels_last
        return step_of(
            network, optimizer, lambda: backbone.prepare(images).contiguous(memory_format=layout), labels, frozen
        )

    return medians(
        {
            "erm": step(backbone, lambda x: torch.zeros(size, 0), 0, ours=True),
            "ftt": step(backbone, lambda x: cached, dims, ours=True),
            "both": step(plain, lambda x: _forward(plain, x) @ weight, dims, ours=False),
            "both channels_last": step(torchs, lambda x: _forward(torchs, x) @ weight, dims, ours=False),
        },
        repeats,
    )


def _frozen_branch(name: str, size: int, repeats: int) -> tuple[dict[str, float], float]:
    """Seconds of the plain and of the fast forward, and the largest difference in units of the features' spread."""
    images = np.random.default_rng(0).integers(0, 256, (size, 64, 32, 3), dtype=np.uint8)
    backbone = create(name, ArrayInputs(images, "images")).eval()
    x = backbone.prepare(images)
    torchs: Any = backbone.exportable()
    plain, flat, fast = _in_layout(torchs, torch.contiguous_format), x.contiguous(), fused(backbone, x[:8])

    def fast_forward() -> Tensor:
        with torch.inference_mode():
            return fast(x)

    forwards: dict[str, Callable[[], Any]] = {
        "plain": lambda: _forward(plain, flat),
        "plain channels_last": lambda: _forward(torchs, x),
        "fast": fast_forward,
    }
    seconds = medians(forwards, repeats)
    wanted = _forward(plain, flat)
    return seconds, float((wanted - fast_forward()).abs().max() / wanted.std())


def _in_layout(backbone: Backbone, layout: torch.memory_format) -> Backbone:
    return copy.deepcopy(backbone).to(memory_format=layout)  # type: ignore[call-overload,no-any-return]


def _forward(backbone: Backbone, x: Tensor) -> Tensor:
    with torch.no_grad():
        out: Tensor = backbone(x)
    return out


def step_of(
    network: TwoBranch,
    optimizer: torch.optim.Optimizer,
    prepare: Callable[[], Tensor],
    labels: Tensor,
    frozen: Frozen,
) -> Callable[[], None]:
    """One whole step: prepare, forward, backward, update."""
    network.train()

    def step() -> None:
        x = prepare()
        cross_entropy(network(x, frozen(x)), labels).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def medians(steps: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
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
