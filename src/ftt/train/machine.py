"""Where training runs: devices, nodes and arithmetic, through Lightning Fabric."""

from __future__ import annotations

from dataclasses import dataclass

from lightning_fabric import Fabric

from ftt.errors import FttError


@dataclass(frozen=True)
class Machine:
    """The devices of one training. They do not belong to a run's key: they change its speed, not its meaning."""

    accelerator: str = "auto"
    devices: int = 1
    nodes: int = 1

    def fabric(self, precision: str = "32-true") -> Fabric:
        """A launched Fabric; with several devices this process becomes one of several."""
        several = self.devices * self.nodes > 1
        try:
            fabric = Fabric(
                accelerator=self.accelerator,
                devices=self.devices,
                num_nodes=self.nodes,
                precision=precision,  # type: ignore[arg-type]
                strategy="ddp" if several else "auto",
            )
        except (RuntimeError, ValueError, TypeError) as error:
            raise FttError(
                "these devices cannot be had",
                given=f"accelerator {self.accelerator}, {self.devices} devices, {self.nodes} nodes",
                allowed=str(error).splitlines()[0][:200],
                hint="ftt doctor shows what this machine has",
            ) from None
        if several:
            fabric.launch()
        return fabric
