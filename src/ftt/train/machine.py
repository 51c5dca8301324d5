"""Where training runs: devices, nodes and arithmetic, through Lightning Fabric."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta

from lightning_fabric import Fabric
from lightning_fabric.strategies.ddp import DDPStrategy

from ftt.errors import FttError
from ftt.network import waiting_for

RENDEZVOUS = 300.0
"""Seconds that the processes of a training wait for each other at its start."""


@dataclass(frozen=True)
class Machine:
    """The devices of one training. They are not part of a run's key: they change its speed, not its meaning."""

    accelerator: str = "auto"
    devices: int = 1
    nodes: int = 1

    @property
    def several(self) -> bool:
        """Whether a training is spread over several processes."""
        return self.devices * self.nodes > 1

    def fabric(self, precision: str = "32-true") -> Fabric:
        """A launched Fabric; with several devices this process becomes one of several."""
        fabric = self.check(precision)
        if self.several:
            self._meet(fabric)
        return fabric

    def _meet(self, fabric: Fabric) -> None:
        """Start or join the other processes; one that does not appear is not waited for without end."""
        import torch.distributed as dist
        from torch.distributed import distributed_c10d

        if dist.is_initialized():
            fabric.launch()
            return
        try:
            with waiting_for(f"the other processes of this training (at most {RENDEZVOUS:g} s)", after=5.0):
                fabric.launch()
        except (dist.DistError, RuntimeError, TimeoutError) as error:
            raise FttError(
                "the processes of this training did not all start",
                given=f"{self.nodes} nodes with {self.devices} devices each; "
                f"this is node {os.environ.get('NODE_RANK', os.environ.get('GROUP_RANK', '0'))}",
                allowed=f"all of them within {RENDEZVOUS:g} s ({str(error).splitlines()[0][:120]})",
                hint="start the same command on every node, with the same master address and port",
            ) from None
        # While one process does something alone, such as extracting features, the others may wait for long.
        distributed_c10d._set_pg_timeout(distributed_c10d.default_pg_timeout)

    def check(self, precision: str) -> Fabric:
        """Refuse devices that are not here, or cannot compute like this; the Fabric is not launched yet."""
        try:
            fabric = Fabric(
                accelerator=self.accelerator,
                devices=self.devices,
                num_nodes=self.nodes,
                precision=precision,  # type: ignore[arg-type]
                strategy=DDPStrategy(timeout=timedelta(seconds=RENDEZVOUS)) if self.several else "auto",
            )
        except (RuntimeError, ValueError, TypeError) as error:
            raise FttError(
                "the requested devices are not available",
                given=f"accelerator {self.accelerator}, {self.devices} devices, {self.nodes} nodes",
                allowed=str(error).splitlines()[0][:200],
                hint="ftt doctor shows what this machine has",
            ) from None
        if precision == "16-mixed" and fabric.device.type == "cpu":
            # Fabric would compute in bfloat16 and leave a result under the wrong name.
            raise FttError(
                "16-bit floats are not available on a CPU",
                given="precision 16-mixed",
                allowed="32-true or bf16-mixed",
                hint="leave out --precision",
            )
        return fabric
