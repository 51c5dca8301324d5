"""Where training stands, as one checked file: all tensors, and the position in its notes.

One file is one atomic replacement, so what is read is always a whole checkpoint; the one before is kept in case a
disk lost the last. The order of the data and every random number are functions of the position (`ftt.train.rng`), so
no generator state needs keeping.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ftt import checked
from ftt.progress import say


@dataclass
class Position:
    """How far training is: stage, finished steps, sum of losses of the epoch under way, best score of an epoch."""

    stage: int = 0
    epoch: int = 0
    step_in_epoch: int = 0
    step: int = 0
    loss_sum: float = 0.0
    best: float = -1.0
    log: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Snapshot:
    """Tensors by name, and the position they belong to."""

    tensors: dict[str, Tensor]
    position: Position


class CheckpointFile:
    """The last two snapshots of one training, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.last = folder / "last.safetensors"
        self.previous = folder / "previous.safetensors"

    def save(self, snapshot: Snapshot) -> None:
        """The new one becomes the last, the last the one before."""
        arrays = {name: value.detach().cpu().numpy() for name, value in snapshot.tensors.items()}
        if self.last.exists():
            self.last.replace(self.previous)
        checked.write(self.last, arrays, vars(snapshot.position))

    def load(self) -> Snapshot | None:
        """The newest snapshot that is as it was written, or None; damage is reported."""
        for path in (self.last, self.previous):
            if not path.is_file():
                continue
            try:
                arrays, position = checked.load(path)
                return Snapshot({name: torch.from_numpy(value) for name, value in arrays.items()}, Position(**position))
            except (checked.DamagedError, TypeError) as error:
                other = (
                    "the one before is used" if path == self.last and self.previous.is_file() else "training restarts"
                )
                say(f"checkpoint {path} is damaged ({error}): {other}")
        return None

    def discard(self) -> None:
        """Forget: the training is finished and kept elsewhere."""
        for path in (self.last, self.previous):
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.last.parent.rmdir()


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of an optimiser as named tensors: ``optimizer.<parameter>.<slot>``."""
    state = optimizer.state_dict()["state"]
    return {
        f"optimizer.{index}.{slot}": torch.as_tensor(value)
        for index, slots in state.items()
        for slot, value in slots.items()
        if value is not None
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Put the named tensors of `optimizer_tensors` back."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        kind, _, rest = name.partition(".")
        if kind == "optimizer":
            index, _, slot = rest.partition(".")
            like = parameters[int(index)]
            # Fused optimisers walk memory: a slot must lie there as its parameter does (channels_last).
            state.setdefault(int(index), {})[slot] = (
                torch.empty_like(like).copy_(value) if value.shape == like.shape else value
            )
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
