"""The training loop, on Lightning Fabric: one device or many, resumable at every step to the same bits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from lightning_fabric import Fabric
from torch import Tensor

from ftt.methods.base import Batch, Method, Outputs, State, Task
from ftt.progress import track
from ftt.spec import Training
from ftt.train.batches import Batches, Loaded
from ftt.train.checkpoint import (
    CheckpointFile,
    Position,
    Snapshot,
    optimizer_tensors,
    restore_optimizer,
)
from ftt.train.network import TwoBranch
from ftt.train.rng import torch_seeded

CHECKPOINT_SECONDS = 20.0
"""A killed run loses at most about this much work."""


@dataclass
class Session:
    """What one training holds while it runs."""

    network: Any
    optimizer: Any
    method: Method
    state: State
    position: Position
    tally: Tensor
    """(K, A, 2) right answers and rows of the epoch so far, by observed label and attribute."""

    def snapshot(self) -> Snapshot:
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors |= {f"method.{name}": value for name, value in self.state.items()}
        tensors |= optimizer_tensors(self.optimizer)
        return Snapshot({**tensors, "tally": self.tally}, self.position)

    def restore(self, snapshot: Snapshot) -> None:
        parts: dict[str, dict[str, Tensor]] = {"network": {}, "method": {}}
        for name, value in snapshot.tensors.items():
            kind, _, rest = name.partition(".")
            if kind in parts:
                parts[kind][rest] = value
        self.network.load_state_dict(parts["network"])
        self.state.update(parts["method"])
        restore_optimizer(self.optimizer, snapshot.tensors)
        self.tally = snapshot.tensors["tally"].to(self.tally.device)
        self.position = snapshot.position


def fit_network(
    network: TwoBranch,
    batches: Batches,
    method: Method,
    training: Training,
    seed: int,
    task: Task,
    *,
    checkpoint: CheckpointFile | None = None,
    fabric: Fabric | None = None,
    rows: npt.NDArray[np.int64] | None = None,
    label: str = "training",
) -> list[dict[str, Any]]:
    """Train in place; the log has one record per epoch, on the observed labels.

    Parameters
    ----------
    rows : (r,) int array, optional
        Rows of an epoch, with repeats for up-weighted ones; default every row once.
    checkpoint : CheckpointFile, optional
        Where to go on from and what to leave behind.
    """
    fabric = fabric or single_device()
    rows = np.arange(len(batches.y)) if rows is None else rows
    network.train()
    wrapped, optimizer = fabric.setup(network, make_optimizer(network, training))
    tally = torch.zeros(task.n_classes, task.n_attributes, 2, dtype=torch.int64, device=fabric.device)
    session = Session(wrapped, optimizer, method, method.start(task), Position(), tally)
    if checkpoint is not None and (snapshot := checkpoint.load()) is not None:
        session.restore(snapshot)
    steps_per_epoch = -(-len(rows) // training.batch_size)
    todo = _walk(session, batches, training, rows, seed, fabric)
    saved = time.monotonic()
    for step, loaded in track(todo, label, training.epochs * steps_per_epoch, done=session.position.step):
        _step(session, loaded, len(step), seed, fabric)
        if session.position.step_in_epoch == steps_per_epoch:
            _close_epoch(session)
        if checkpoint is not None and fabric.is_global_zero and time.monotonic() - saved > CHECKPOINT_SECONDS:
            checkpoint.save(session.snapshot())
            saved = time.monotonic()
    return session.position.log


def single_device() -> Fabric:
    """One device, the best this machine has."""
    return Fabric(accelerator="auto", devices=1)


def make_optimizer(network: TwoBranch, training: Training) -> torch.optim.Optimizer:
    parameters = [p for p in network.parameters() if p.requires_grad]
    if training.optimizer == "adam":
        return torch.optim.Adam(parameters, lr=training.lr, weight_decay=training.weight_decay)
    return torch.optim.SGD(parameters, lr=training.lr, momentum=training.momentum, weight_decay=training.weight_decay)


def learning_rate(training: Training, epoch: int) -> float:
    """The learning rate of an epoch: a function of its number, so a schedule has no state to lose."""
    dropped = training.drop_after is not None and epoch >= training.drop_after
    return training.lr * (training.drop_factor if dropped else 1.0)


def _walk(
    session: Session,
    batches: Batches,
    training: Training,
    rows: npt.NDArray[np.int64],
    seed: int,
    fabric: Fabric,
) -> Iterator[tuple[npt.NDArray[np.int64], Loaded]]:
    """Every step still to be done, from the session's position on."""
    for epoch in range(session.position.epoch, training.epochs):
        for group in session.optimizer.param_groups:
            group["lr"] = learning_rate(training, epoch)
        steps = batches.order(rows, seed, epoch)[session.position.step_in_epoch :]
        yield from zip(steps, batches.load(steps, fabric.global_rank, fabric.world_size), strict=True)


def _step(session: Session, loaded: Loaded, global_size: int, seed: int, fabric: Fabric) -> None:
    position = session.position
    x, frozen = fabric.to_device(loaded.x), fabric.to_device(loaded.frozen)
    y, a = fabric.to_device(loaded.y), fabric.to_device(loaded.a)
    with torch_seeded(seed, "step", position.step, fabric.global_rank):
        logits, features = session.network(x, frozen)
    batch = Batch(y=y, a=a, step=position.step, epoch=position.epoch)
    loss = session.method.loss(Outputs(logits, features), batch, session.state)
    # Processes average their gradients; an uneven last batch is weighted back to the mean over all its rows.
    share = len(y) * fabric.world_size / global_size
    fabric.backward(loss * share if fabric.world_size > 1 else loss)
    session.optimizer.step()
    session.optimizer.zero_grad(set_to_none=True)
    right = (logits.detach().argmax(1) == y).long()
    session.tally.index_put_((y, a), torch.stack([right, torch.ones_like(right)], dim=1), accumulate=True)
    position.loss_sum += float(loss.detach())
    position.step += 1
    position.step_in_epoch += 1


def _close_epoch(session: Session) -> None:
    position = session.position
    right, total = session.tally[..., 0], session.tally[..., 1]
    accuracy = (right.double() / total.clamp(min=1)).tolist()
    position.log.append(
        {
            "epoch": position.epoch,
            "loss": position.loss_sum / position.step_in_epoch,
            "accuracy": float(right.sum()) / float(total.sum()),
            "accuracy_by_group": accuracy,
            "rows_by_group": total.tolist(),
        }
    )
    position.epoch, position.step_in_epoch, position.loss_sum = position.epoch + 1, 0, 0.0
    session.tally.zero_()
