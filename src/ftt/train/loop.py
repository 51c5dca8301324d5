"""The training loop, on Lightning Fabric: one device or many, resumable at every step to the same bits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from ftt.arrays import IntArray
from ftt.errors import FttError
from ftt.methods.method import Batch, Method, Outputs, Stage, State, Task
from ftt.progress import say, track
from ftt.rng import torch_seeded
from ftt.spec import Training
from ftt.stopping import Stopped, deferred
from ftt.train.batches import Batches, Loaded, Share
from ftt.train.checkpoint import CheckpointFile, Position, Snapshot, optimizer_tensors, restore_optimizer
from ftt.train.selection import Validation
from ftt.train.services import Log
from ftt.train.two_branch import TwoBranch

CHECKPOINT_SECONDS = 20.0
"""A killed run loses at most about this much work."""


@dataclass
class Session:
    """The state of one stage while it runs."""

    network: Any
    optimizer: Any
    state: State
    position: Position
    rows: IntArray
    tally: Tensor
    """(K, A, 2) right answers and rows of the epoch so far, by observed label and attribute."""
    best: dict[str, Tensor] = field(default_factory=dict)
    """The weights of the best epoch so far, where epochs are compared."""

    def snapshot(self) -> Snapshot:
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors |= {f"method.{name}": value for name, value in self.state.items()}
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        tensors |= optimizer_tensors(self.optimizer)
        return Snapshot({**tensors, "rows": torch.from_numpy(self.rows), "tally": self.tally}, self.position)

    def restore(self, snapshot: Snapshot) -> None:
        parts: dict[str, dict[str, Tensor]] = {"network": {}, "method": {}, "best": {}}
        for name, value in snapshot.tensors.items():
            kind, _, rest = name.partition(".")
            if kind in parts:
                parts[kind][rest] = value
        self.network.load_state_dict(parts["network"])
        self.state.update({name: value.to(self.tally.device) for name, value in parts["method"].items()})
        self.best = parts["best"]
        restore_optimizer(self.optimizer, snapshot.tensors)
        self.tally = snapshot.tensors["tally"].to(self.tally.device)
        self.position = snapshot.position


@dataclass(frozen=True)
class Trainer:
    """Everything that stays the same while a method trains.

    Attributes
    ----------
    method, training, seed, task
        What is minimised, how, from which seed, and the sizes of the data.
    batches : Batches
        What is trained on.
    fabric : Fabric
        The devices.
    checkpoint : CheckpointFile, optional
        Where training is resumed from and leaves its checkpoints.
    on_epoch : callable, optional
        Called with the whole log whenever an epoch ends.
    validation : Validation, optional
        What the epochs of the last stage are compared on; without it the last one is kept.
    """

    method: Method
    training: Training
    seed: int
    task: Task
    batches: Batches
    fabric: Fabric
    checkpoint: CheckpointFile | None = None
    on_epoch: Callable[[Log], None] | None = None
    validation: Validation | None = None

    def train(self, build: Callable[[], TwoBranch]) -> tuple[TwoBranch, Log]:
        """Every stage of the method from fresh weights; the network of the last one, and the log.

        Resumes from the checkpoint if there is one. The log has one record per epoch, on the observed labels.
        """
        stages = self.method.stages(self._epochs())
        snapshot = self.checkpoint.load() if self.checkpoint else None
        position = snapshot.position if snapshot else Position()
        if snapshot is not None:
            say(f"resuming from a checkpoint: stage {position.stage + 1} of {len(stages)}, step {position.step}")
        rows = snapshot.tensors["rows"].numpy() if snapshot else np.arange(len(self.batches))
        network: TwoBranch
        for number in range(position.stage, len(stages)):
            label = "training" if len(stages) == 1 else f"training, stage {number + 1} of {len(stages)}"
            network = build()
            session = self._open(network, rows, position)
            if snapshot is not None and number == snapshot.position.stage and "tally" in snapshot.tensors:
                session.restore(snapshot)
            self._run(session, stages[number], label)
            position = session.position
            if session.best:
                session.network.load_state_dict(session.best)
            if number + 1 < len(stages):
                rows = self._with_errors(network, stages[number + 1].copies_of_errors)
                position = Position(stage=number + 1, log=position.log)
                self._save(Snapshot({"rows": torch.from_numpy(rows)}, position))
        return network, position.log

    def _epochs(self) -> int:
        """Passes over the rows: as many as the wanted number of steps takes, where one is given."""
        if self.training.steps is None:
            return self.training.epochs
        return -(-self.training.steps // self.batches.steps_per_epoch(np.arange(len(self.batches))))

    def _save(self, snapshot: Snapshot) -> None:
        if self.checkpoint is not None and self.fabric.is_global_zero:
            self.checkpoint.save(snapshot)

    def _open(self, network: TwoBranch, rows: IntArray, position: Position) -> Session:
        network.train()
        if self.training.batchnorm == "frozen":
            for module in network.modules():
                if isinstance(module, nn.modules.batchnorm._BatchNorm):
                    module.eval()
        wrapped, optimizer = self.fabric.setup(network, make_optimizer(network, self.training))
        shape = (self.task.n_classes, self.task.n_attributes, 2)
        tally = torch.zeros(shape, dtype=torch.int64, device=self.fabric.device)
        return Session(wrapped, optimizer, self.method.start(self.task), position, rows, tally)

    def _run(self, session: Session, stage: Stage, label: str) -> None:
        steps_per_epoch = self.batches.steps_per_epoch(session.rows)
        last = stage.epochs * steps_per_epoch
        if self.training.steps is not None:
            last = min(last, self.training.steps)
        saved = time.monotonic()
        with deferred() as request:
            for size, loaded in track(self._walk(session, stage), label, last, done=session.position.step):
                self._step(session, loaded, size)
                if session.position.step_in_epoch == steps_per_epoch or session.position.step == last:
                    _close_epoch(session)
                    if self.validation is not None and not stage.followed:
                        self._compare(session, self.validation)
                    if self.on_epoch is not None and self.fabric.is_global_zero:
                        self.on_epoch(session.position.log)
                if request.signum is not None or time.monotonic() - saved > CHECKPOINT_SECONDS:
                    self._save(session.snapshot())
                    saved = time.monotonic()
                if request.signum is not None:
                    raise Stopped(f"{label}, step {session.position.step} of {last}", request.signum)

    def _compare(self, session: Session, validation: Validation) -> None:
        """Keep the weights of this epoch if they do better than those of every epoch before."""
        position = session.position
        score = validation.worst_group(session.network, self.fabric)
        position.log[-1]["val_worst_group"] = score
        if score > position.best:
            position.best = score
            session.best = {name: value.detach().clone() for name, value in session.network.state_dict().items()}

    def _walk(self, session: Session, stage: Stage) -> Iterator[tuple[int, Loaded]]:
        """Every step still to be done, from the session's position on, with its size over all processes."""
        share = Share(self.fabric.global_rank, self.fabric.world_size)
        for epoch in range(session.position.epoch, stage.epochs):
            for group in session.optimizer.param_groups:
                group["lr"] = learning_rate(self.training, epoch, stage.epochs)
            first = session.position.step_in_epoch
            steps = self.batches.order(session.rows, self.seed, epoch)[first:]
            if self.training.steps is not None:
                steps = steps[: self.training.steps - session.position.step]
            yield from zip(map(len, steps), self.batches.load(steps, self.seed, epoch, first, share), strict=True)

    def _step(self, session: Session, loaded: Loaded, size: int) -> None:
        position, fabric = session.position, self.fabric
        if self.method.resets_optimizer(position.step):
            session.optimizer.state.clear()
        x, frozen = fabric.to_device(loaded.x), fabric.to_device(loaded.frozen)
        y, a = fabric.to_device(loaded.y), fabric.to_device(loaded.a)
        with torch_seeded(self.seed, "step", position.step, fabric.global_rank):
            logits = session.network(x, frozen)
        environment = fabric.to_device(loaded.environment)
        gathers = self.method.whole_batch and fabric.world_size > 1
        seen = [self._gathered(part, size) if gathers else part for part in (logits, y, a, environment)]
        soft = None if loaded.soft is None else fabric.to_device(loaded.soft)
        batch = Batch(y=seen[1], a=seen[2], step=position.step, epoch=position.epoch, environment=seen[3], soft=soft)
        loss = self.method.loss(Outputs(seen[0]), batch, session.state)
        if not torch.isfinite(loss):
            raise FttError(
                f"training diverged: loss {float(loss.detach())} in epoch {position.epoch}, step {position.step}",
                given=f"lr {session.optimizer.param_groups[0]['lr']:g}, method {self.method.name}, {len(y)} rows",
                allowed="a finite loss",
                hint="lower --lr",
            )
        # Processes average their gradients. The gradient of a mean over rows is weighted by this process's share of
        # them; of a loss over the whole batch every process has the part through its own rows, and parts are summed.
        share = fabric.world_size * (1 if gathers else len(y) / size)
        fabric.backward(loss * share if fabric.world_size > 1 else loss)
        session.optimizer.step()
        session.optimizer.zero_grad(set_to_none=True)
        right = (logits.detach().argmax(1) == y).long()
        session.tally.index_put_((y, a), torch.stack([right, torch.ones_like(right)], dim=1), accumulate=True)
        position.loss_sum += float(loss.detach())
        position.step += 1
        position.step_in_epoch += 1

    def _gathered(self, own: Tensor, size: int) -> Tensor:
        """The rows of all processes in the order of the batch; gradients flow through this process's rows only."""
        rank, world = self.fabric.global_rank, self.fabric.world_size
        # Processes may differ by one row, but only tensors of one shape can be gathered.
        padded = own.new_zeros((-(-size // world), *own.shape[1:]))
        padded[: len(own)] = own.detach()
        parts: Any = self.fabric.all_gather(padded)
        whole = own.new_empty((size, *own.shape[1:]))
        for number in range(world):
            members = whole[number::world]
            whole[number::world] = own if number == rank else parts[number][: len(members)]
        return whole

    def _with_errors(self, network: TwoBranch, copies: int) -> IntArray:
        """Every row once, and `copies` more of each row whose observed label the network does not predict."""
        network.eval()
        batches, everything = self.batches, np.arange(len(self.batches))
        wrong = []
        with torch.inference_mode():
            for start in range(0, len(everything), 256):
                rows = everything[start : start + 256]
                index = torch.from_numpy(rows)
                x = self.fabric.to_device(batches.backbone.prepare(batches.split.inputs.read(rows)))
                logits = network(x, self.fabric.to_device(batches.frozen(rows)))
                wrong.append(rows[(logits.argmax(1).cpu() != batches.y[index]).numpy()])
        return np.concatenate([everything, np.repeat(np.concatenate(wrong), copies)])


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


def _close_epoch(session: Session) -> None:
    position = session.position
    right, total = session.tally[..., 0].tolist(), session.tally[..., 1].tolist()
    position.log.append(
        {
            "stage": position.stage,
            "epoch": position.epoch,
            "loss": position.loss_sum / position.step_in_epoch,
            "accuracy": sum(map(sum, right)) / sum(map(sum, total)),
            # The accuracy of a group without rows is unknown, not zero.
            "accuracy_by_group": [
                [r / n if n else None for r, n in zip(*rows, strict=True)] for rows in zip(right, total, strict=True)
            ],
            "rows_by_group": total,
        }
    )
    position.epoch, position.step_in_epoch, position.loss_sum = position.epoch + 1, 0, 0.0
    session.tally.zero_()
