"""Where training runs: devices, nodes and arithmetic, through Lightning Fabric."""

from __future__ import annotations

from dataclasses import dataclass

from lightning_fabric import Fabric

from ftt.errors import FttError


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
            fabric.launch()
        return fabric

    def check(self, precision: str) -> Fabric:
        """Refuse devices that are not here, or cannot compute like this; the Fabric is not launched yet."""
        try:
            fabric = Fabric(
                accelerator=self.accelerator,
                devices=self.devices,
                num_nodes=self.nodes,
                precision=precision,  # type: ignore[arg-type]
                strategy="ddp" if self.several else "auto",
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
