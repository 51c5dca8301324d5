"""The training loop, on Lightning Fabric: one device or many, resumable at every step to the same bits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from ftt.arrays import IntArray
from ftt.errors import FttError
from ftt.methods.base import Batch, Method, Outputs, Stage, State, Task
from ftt.progress import track
from ftt.rng import torch_seeded
from ftt.spec import Training
from ftt.train.batches import Batches, Loaded
from ftt.train.checkpoint import CheckpointFile, Position, Snapshot, optimizer_tensors, restore_optimizer
from ftt.train.network import TwoBranch

CHECKPOINT_SECONDS = 20.0
"""A killed run loses at most about this much work."""

OnEpoch = Callable[[list[dict[str, Any]]], None]


@dataclass
class Session:
    """What one training holds while it runs."""

    network: Any
    optimizer: Any
    method: Method
    state: State
    position: Position
    rows: IntArray
    tally: Tensor
    """(K, A, 2) right answers and rows of the epoch so far, by observed label and attribute."""

    def snapshot(self) -> Snapshot:
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors |= {f"method.{name}": value for name, value in self.state.items()}
        tensors |= optimizer_tensors(self.optimizer)
        return Snapshot({**tensors, "rows": torch.from_numpy(self.rows), "tally": self.tally}, self.position)

    def restore(self, snapshot: Snapshot) -> None:
        parts: dict[str, dict[str, Tensor]] = {"network": {}, "method": {}}
        for name, value in snapshot.tensors.items():
            kind, _, rest = name.partition(".")
            if kind in parts:
                parts[kind][rest] = value
        self.network.load_state_dict(parts["network"])
        self.state.update({name: value.to(self.tally.device) for name, value in parts["method"].items()})
        restore_optimizer(self.optimizer, snapshot.tensors)
        self.tally = snapshot.tensors["tally"].to(self.tally.device)
        self.position = snapshot.position


def train_in_stages(
    build: Callable[[], TwoBranch],
    batches: Batches,
    method: Method,
    training: Training,
    seed: int,
    task: Task,
    *,
    fabric: Fabric,
    checkpoint: CheckpointFile | None = None,
    on_epoch: OnEpoch | None = None,
) -> tuple[TwoBranch, list[dict[str, Any]]]:
    """Every stage of a method from fresh weights; the network of the last one is kept.

    Goes on from the checkpoint where there is one. The log has one record per epoch, on the observed labels; it is
    handed to `on_epoch`, whole, whenever one is added.
    """
    if method.whole_batch and fabric.world_size > 1:
        raise FttError(
            f"the loss of {method.name!r} needs a whole batch, which several processes would split",
            given=f"{fabric.world_size} processes",
            allowed="one process",
            hint="run it on one device",
        )
    stages = method.stages(_epochs(training, batches))
    snapshot = checkpoint.load() if checkpoint else None
    position = snapshot.position if snapshot else Position()
    rows = snapshot.tensors["rows"].numpy() if snapshot else np.arange(len(batches))
    network: TwoBranch
    for number in range(position.stage, len(stages)):
        label = "training" if len(stages) == 1 else f"training, stage {number + 1} of {len(stages)}"
        network = build()
        session = _open(network, method, training, task, rows, position, fabric)
        if snapshot is not None and number == snapshot.position.stage and "tally" in snapshot.tensors:
            session.restore(snapshot)
        _run(session, batches, stages[number], training, seed, fabric, checkpoint, on_epoch, label)
        position = session.position
        if number + 1 < len(stages):
            rows = _with_errors(network, batches, stages[number + 1].copies_of_errors, fabric)
            position = Position(stage=number + 1, log=position.log)
            if checkpoint is not None and fabric.is_global_zero:
                checkpoint.save(Snapshot({"rows": torch.from_numpy(rows)}, position))
    return network, position.log


def _epochs(training: Training, batches: Batches) -> int:
    """Passes over the rows: as many as it takes to make the wanted steps, where these are given."""
    if training.steps is None:
        return training.epochs
    return -(-training.steps // batches.steps_per_epoch(np.arange(len(batches))))


def make_optimizer(network: nn.Module, training: Training) -> torch.optim.Optimizer:
    parameters = [p for p in network.parameters() if p.requires_grad]
    if training.optimizer == "adam":
        return torch.optim.Adam(parameters, lr=training.lr, weight_decay=training.weight_decay)
    # Fused: the same bits in a third of the time.
    return torch.optim.SGD(
        parameters, lr=training.lr, momentum=training.momentum, weight_decay=training.weight_decay, fused=True
    )


def learning_rate(training: Training, epoch: int, epochs: int) -> float:
    """The learning rate of an epoch: a function of its number, so a schedule has no state to lose."""
    if training.schedule == "drop" and epoch >= training.drop_after:
        return training.lr * training.drop_factor
    if training.schedule == "cosine":
        return training.lr * 0.5 * (1 + math.cos(math.pi * epoch / epochs))
    return training.lr


def _open(
    network: TwoBranch,
    method: Method,
    training: Training,
    task: Task,
    rows: IntArray,
    position: Position,
    fabric: Fabric,
) -> Session:
    network.train()
    if training.batchnorm == "frozen":
        for module in network.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.eval()
    wrapped, optimizer = fabric.setup(network, make_optimizer(network, training))
    tally = torch.zeros(task.n_classes, task.n_attributes, 2, dtype=torch.int64, device=fabric.device)
    return Session(wrapped, optimizer, method, method.start(task), position, rows, tally)


def _run(
    session: Session,
    batches: Batches,
    stage: Stage,
    training: Training,
    seed: int,
    fabric: Fabric,
    checkpoint: CheckpointFile | None,
    on_epoch: OnEpoch | None,
    label: str,
) -> None:
    steps_per_epoch = batches.steps_per_epoch(session.rows)
    last = stage.epochs * steps_per_epoch
    if training.steps is not None:
        last = min(last, training.steps)
    todo = _walk(session, batches, stage, training, seed, fabric)
    saved = time.monotonic()
    for size, loaded in track(todo, label, last, done=session.position.step):
        _step(session, loaded, size, seed, fabric)
        if session.position.step_in_epoch == steps_per_epoch or session.position.step == last:
            _close_epoch(session)
            if on_epoch is not None and fabric.is_global_zero:
                on_epoch(session.position.log)
        if checkpoint is not None and fabric.is_global_zero and time.monotonic() - saved > CHECKPOINT_SECONDS:
            checkpoint.save(session.snapshot())
            saved = time.monotonic()


def _walk(
    session: Session, batches: Batches, stage: Stage, training: Training, seed: int, fabric: Fabric
) -> Iterator[tuple[int, Loaded]]:
    """Every step still to be done, from the session's position on, with its size over all processes."""
    for epoch in range(session.position.epoch, stage.epochs):
        for group in session.optimizer.param_groups:
            group["lr"] = learning_rate(training, epoch, stage.epochs)
        first = session.position.step_in_epoch
        steps = batches.order(session.rows, seed, epoch)[first:]
        if training.steps is not None:
            steps = steps[: training.steps - session.position.step]
        loaded = batches.load(steps, seed, epoch, first, fabric.global_rank, fabric.world_size)
        yield from zip(map(len, steps), loaded, strict=True)


def _step(session: Session, loaded: Loaded, size: int, seed: int, fabric: Fabric) -> None:
    position = session.position
    if session.method.resets_optimizer(position.step):
        session.optimizer.state.clear()
    x, frozen = fabric.to_device(loaded.x), fabric.to_device(loaded.frozen)
    y, a = fabric.to_device(loaded.y), fabric.to_device(loaded.a)
    with torch_seeded(seed, "step", position.step, fabric.global_rank):
        logits = session.network(x, frozen)
    batch = Batch(y=y, a=a, step=position.step, epoch=position.epoch)
    loss = session.method.loss(Outputs(logits), batch, session.state)
    if not torch.isfinite(loss):
        raise FttError(
            f"training diverged: the loss is {float(loss.detach())} in epoch {position.epoch}, step {position.step}",
            given=f"lr {session.optimizer.param_groups[0]['lr']:g}, method {session.method.name}",
            allowed="a finite loss",
            hint="lower --lr",
        )
    # Processes average their gradients; an uneven last batch is weighted back to the mean over all its rows.
    share = len(y) * fabric.world_size / size
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
    position.log.append(
        {
            "stage": position.stage,
            "epoch": position.epoch,
            "loss": position.loss_sum / position.step_in_epoch,
            "accuracy": float(right.sum()) / float(total.sum()),
            "accuracy_by_group": (right.double() / total.clamp(min=1)).tolist(),
            "rows_by_group": total.tolist(),
        }
    )
    position.epoch, position.step_in_epoch, position.loss_sum = position.epoch + 1, 0, 0.0
    session.tally.zero_()


def _with_errors(network: TwoBranch, batches: Batches, copies: int, fabric: Fabric) -> IntArray:
    """Every row once, and `copies` more of each row whose observed label the network does not predict."""
    network.eval()
    everything = np.arange(len(batches))
    wrong = []
    with torch.inference_mode():
        for start in range(0, len(everything), 256):
            rows = everything[start : start + 256]
            index = torch.from_numpy(rows)
            x = fabric.to_device(batches.backbone.prepare(batches.split.inputs.read(rows)))
            logits = network(x, fabric.to_device(batches.frozen[index]))
            wrong.append(rows[(logits.argmax(1).cpu() != batches.y[index]).numpy()])
    return np.concatenate([everything, np.repeat(np.concatenate(wrong), copies)])
