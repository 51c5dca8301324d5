"""A share with its 95 % interval."""

from __future__ import annotations

from dataclasses import dataclass

from ftt.metrics import Rate
from ftt.params import Json


@dataclass(frozen=True)
class Estimate:
    """An estimated share, with the limits of its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def from_rate(cls, rate: Rate) -> Estimate:
        """The share of a count, with its Wilson interval."""
        return cls(rate.value, *rate.interval())

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    def to_json(self) -> dict[str, Json]:
        return {"value": self.value, "low": self.low, "high": self.high}

    def __str__(self) -> str:
        return f"{self.value:.1%} [{self.low:.1%}, {self.high:.1%}]"
