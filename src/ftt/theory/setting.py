"""One experiment of the theory lab in plain numbers: sizes, noises and seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ftt.params import Configurable, param
from ftt.theory.gradient_flow import frozen_count
from ftt.theory.limits import MAX_DIMENSION, MAX_SEED, NOISE, need_dimension, need_number
from ftt.theory.mechanism import Mechanism


@dataclass(frozen=True)
class Setting(Configurable):
    """Sizes and noises of a random mechanism, and the network trained on it.

    Examples
    --------
    >>> Setting(d1=4, d2=3, k=2, m=4, p=0.5).mechanism().k
    2
    """

    name: ClassVar[str] = "theory"

    d1: int = param(50, help="number of core features", low=1, high=MAX_DIMENSION)
    d2: int = param(50, help="number of spurious features", low=1, high=MAX_DIMENSION)
    k: int = param(5, help="number of leading eigenvectors of Σ that span β", low=1)
    m: int = param(20, help="number of learned features", low=1)
    p: float = param(0.25, help="fraction of frozen principal components", low=0, high=1)
    eta_core: float = param(1.0, help="core noise η_core", low=NOISE[0], high=NOISE[1])
    eta_spu: float = param(0.5, help="spurious noise η_spu", low=NOISE[0], high=NOISE[1])
    seed: int = param(0, help="seed of the mechanism and of the start", low=0)

    def __post_init__(self) -> None:
        # Before the general checks, which convert to float: integers may have hundreds of digits.
        if all(type(size) is int for size in (self.d1, self.d2, self.k, self.m, self.seed)):
            need_dimension(self.d1 + self.d2, self.m)
            need_number("k", self.k, 1, self.d1)
            need_number("seed", self.seed, 0, MAX_SEED)
        super().__post_init__()
        frozen_count(self.m, self.p)

    @property
    def frozen(self) -> int:
        """p·m."""
        return frozen_count(self.m, self.p)

    def mechanism(self) -> Mechanism:
        """The random mechanism of this setting (depends on sizes, noises and seed, not on m and p)."""
        return Mechanism.random(
            np.random.default_rng([self.seed, 0]),
            d1=self.d1,
            d2=self.d2,
            k=self.k,
            eta_core=self.eta_core,
            eta_spu=self.eta_spu,
        )

    def start_rng(self) -> np.random.Generator:
        """Randomness of the start, independent of that of the mechanism."""
        return np.random.default_rng([self.seed, 1])


def random_setting(seed: int, *, largest: int = 24) -> Setting:
    """A valid setting drawn at random: sizes up to `largest`, noises from 0.2 to 2, p·m = k."""
    rng = np.random.default_rng([seed, 2])
    k = int(rng.integers(1, 5))
    m = int(rng.integers(k + 2, 9))
    core, spu = np.exp(rng.uniform(np.log(0.2), np.log(2.0), 2))
    d1, d2 = int(rng.integers(m + 2, largest + 1)), int(rng.integers(1, largest + 1))
    return Setting(d1=d1, d2=d2, k=k, m=m, p=k / m, eta_core=float(core), eta_spu=float(spu), seed=seed)
