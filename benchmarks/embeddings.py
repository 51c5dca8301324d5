"""Training a linear branch on embeddings: ours beside the loop over a DataLoader that one would write."""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from ftt.backbones import create
from ftt.data import ArrayInputs, DatasetInfo
from ftt.data.grouped import Fittable
from ftt.methods.erm import ERM
from ftt.methods.method import Task
from ftt.rows import InMemory
from ftt.spec import Training
from ftt.train.batches import Batches, Frozen
from ftt.train.loop import Trainer
from ftt.train.machine import Machine
from ftt.train.two_branch import TwoBranch, build

N, M, P, BATCH = 4795, 2048, 0.25, 128


def rows(quick: bool) -> list[dict[str, Any]]:
    """Waterbirds' training shape, 4795×2048, p = 0.25; a few of the hundred epochs, since all cost the same."""
    epochs, repeats = (1, 3) if quick else (4, 3)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, M)).astype(np.float32) * (np.arange(1, M + 1, dtype=np.float32) ** -0.5)
    y = (X[:, :8].sum(axis=1) + 0.5 * rng.standard_normal(N) > 0).astype(np.int64)
    frozen = X[:, : int(P * M)].copy()
    ours, theirs, accuracy = [], [], {}
    for _ in range(repeats):
        start = time.process_time()
        network = _ours(X, y, frozen, epochs)
        ours.append(time.process_time() - start)
        accuracy["ours"] = _accuracy(network, X, y, frozen)
        start = time.process_time()
        network = _loader(X, y, frozen, epochs)
        theirs.append(time.process_time() - start)
        accuracy["theirs"] = _accuracy(network, X, y, frozen)
    return [
        {
            "stage": f"embeddings branch, batch {BATCH}",
            "baseline": "a loop over a DataLoader",
            "ratio": statistics.median(theirs) / statistics.median(ours),
            "floor": 2.0,
            "target": 2.5,
            "quality": f"{N}×{M}, {epochs} epochs; accuracy {accuracy['ours']:.3f} and {accuracy['theirs']:.3f}",
        }
    ]


def _ours(X: Any, y: Any, frozen: Any, epochs: int) -> TwoBranch:
    inputs = ArrayInputs(X, "features")
    info = DatasetInfo("bench", ("0", "1"), ("0", "1"), "random")
    split = Fittable("train", inputs, np.zeros(N, dtype=np.int64), np.arange(N).astype(str), info, y=y)
    backbone = create("identity", inputs)
    training = Training(epochs=epochs, batch_size=BATCH, lr=0.01)
    trainer = Trainer(
        method=ERM(),
        training=training,
        seed=0,
        task=Task(2, 2),
        batches=Batches(split, backbone, Frozen(InMemory(frozen)), training),
        fabric=Machine(accelerator="cpu").fabric(),
    )
    network, _ = trainer.train(lambda: build(backbone, frozen.shape[1], 2, seed=0))
    return network


def _loader(X: Any, y: Any, frozen: Any, epochs: int) -> TwoBranch:
    network = build(create("identity", ArrayInputs(X, "features")), frozen.shape[1], 2, seed=0)
    # torch's own layer with the same weights: while it is trained, the network's is a faster one.
    branch, head = nn.Linear(network.project.in_features, network.project.out_features, device="meta"), network.head
    branch.weight, branch.bias = network.project.weight, network.project.bias
    optimizer = torch.optim.SGD([*branch.parameters(), *head.parameters()], lr=0.01, momentum=0.9, weight_decay=1e-3)
    dataset = TensorDataset(torch.from_numpy(X), torch.from_numpy(frozen), torch.from_numpy(y))
    for _ in range(epochs):
        for x, kept, labels in DataLoader(dataset, batch_size=BATCH, shuffle=True):
            loss = cross_entropy(head(torch.cat([kept, branch(x)], dim=1)), labels)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return network


def _accuracy(network: nn.Module, X: Any, y: Any, frozen: Any) -> float:
    with torch.inference_mode():
        predicted = network(torch.from_numpy(X), torch.from_numpy(frozen)).argmax(1).numpy()
    return float((predicted == y).mean())


if __name__ == "__main__":
    for row in rows(quick="--quick" in sys.argv):
        print(row)
