"""What a fit may use besides its data: a cache, a place for checkpoints, devices, and somebody to tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ftt.caching import Cache, NoCache
from ftt.train.checkpoint import CheckpointFile
from ftt.train.machine import Machine

Log = list[dict[str, Any]]
"""One record per epoch: loss and accuracies on the observed labels."""


@dataclass(frozen=True)
class Services:
    """The surroundings of a fit; none of them changes its result.

    Attributes
    ----------
    cache : Cache
        Where features, bases and trained weights are kept between calls.
    checkpoints : callable, optional
        From the key of a training to the place of its checkpoints; without it none are written.
    machine : Machine
        Devices; by default the best single one.
    on_epoch : callable, optional
        Called with the whole log whenever an epoch ends.
    """

    cache: Cache = field(default_factory=NoCache)
    checkpoints: Callable[[str], CheckpointFile] | None = None
    machine: Machine = field(default_factory=Machine)
    on_epoch: Callable[[Log], None] | None = None


NO_SERVICES = Services()
