"""What tasks on a Ray cluster have to say, brought to the driver while they run.

An actor on the driver's node keeps messages until the driver takes them. They are news, not results: where the actor
dies they are lost and the runs go on.
"""

from __future__ import annotations

from typing import Any

from ftt.launch.messages import Messages, pass_on

Letter = tuple[str, dict[str, Any]]
"""Who has sent something, and what."""

PATIENCE = 5.0
"""Seconds that a task waits until its last message has arrived, and the driver for the last messages of all."""


class Mailbox:
    """The actor: messages in, all of them out."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []

    def put(self, who: str, message: dict[str, Any]) -> None:
        self.letters.append((who, message))

    def take(self) -> list[Letter]:
        taken, self.letters = self.letters, []
        return taken


class Posting(Messages):
    """The display of a task: what it shows goes to the mailbox."""

    def __init__(self, mailbox: Any, name: str, every: float) -> None:
        self.mailbox = mailbox
        self.name = name
        self.every = every
        self.last: Any = None

    def send(self, message: dict[str, Any]) -> None:
        self.last = self.mailbox.put.remote(self.name, message)

    def close(self) -> None:
        """Say that nothing more comes, and wait until that has arrived: messages of a task come before its result."""
        import ray

        self.send({"at": None})
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
        """Show what has arrived, and ask for more."""
        if self.ray.wait([self.asked], timeout=patience)[0]:
            try:
                letters = self.ray.get(self.asked)
            except self.ray.exceptions.RayError:
                letters = []
            for who, message in letters:
                pass_on(who, message)
            self.asked = self.mailbox.take.remote()

    def close(self) -> None:
        """Show what has arrived until now: the first answer may be older than the last messages."""
        self.read(PATIENCE)
        self.read(PATIENCE)
