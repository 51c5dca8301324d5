"""What tasks on a Ray cluster have to say, brought to the driver while they run.

An actor on the driver's node keeps messages until the driver takes them. They are news, not results: where the actor
dies they are lost and the runs go on.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from ftt.progress import say

T = TypeVar("T")

EVERY = 30.0
"""Seconds between two lines about the progress of one loop of one task."""

PATIENCE = 5.0
"""Seconds that a task waits until its last message has arrived, and the driver for the last messages of all."""


class Mailbox:
    """The actor: messages in, all of them out."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def put(self, message: str) -> None:
        self.messages.append(message)

    def take(self) -> list[str]:
        taken, self.messages = self.messages, []
        return taken


class Posting:
    """The display of a task: messages, and now and then how far a loop is, go to the mailbox."""

    def __init__(self, mailbox: Any, name: str, every: float) -> None:
        self.mailbox = mailbox
        self.name = name
        self.every = every
        self.last: Any = None

    def track(self, items: Iterable[T], label: str, total: int, done: int) -> Iterator[T]:
        told = time.monotonic()
        for number, item in enumerate(items, start=done + 1):
            yield item
            if time.monotonic() - told >= self.every:
                told = time.monotonic()
                self.say(f"{label}: {number} of {total}")

    def say(self, message: str) -> None:
        self.last = self.mailbox.put.remote(f"{self.name}: {message}")

    def flush(self) -> None:
        """Wait until the messages have arrived: those of a task come before its result."""
        import ray

        if self.last is not None:
            ray.wait([self.last], timeout=PATIENCE)


class Reader:
    """The driver's side: asks for messages, and does other things until they come."""

    def __init__(self, ray: Any) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        # Not soft: Ray would then put it on any node, and it would be lost when that node is.
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self.ray = ray
        self.mailbox = ray.remote(num_cpus=0, scheduling_strategy=here)(Mailbox).remote()
        self.asked = self.mailbox.take.remote()

    def read(self, patience: float = 0.0) -> None:
        """Say what has arrived, and ask for more."""
        if self.ray.wait([self.asked], timeout=patience)[0]:
            try:
                messages = self.ray.get(self.asked)
            except self.ray.exceptions.RayError:
                messages = []
            for message in messages:
                say(message)
            self.asked = self.mailbox.take.remote()

    def close(self) -> None:
        """Say what has arrived until now: the first answer may be older than the last messages."""
        self.read(PATIENCE)
        self.read(PATIENCE)
