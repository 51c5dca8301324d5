"""Small mechanisms the theory tests share."""

from __future__ import annotations

import numpy as np
import pytest

from ftt.theory import Mechanism


@pytest.fixture
def mechanism() -> Mechanism:
    """η_core > η_spu, d1 = 8, d2 = 5, k = 3."""
    return Mechanism.random(np.random.default_rng(7), d1=8, d2=5, k=3, eta_core=1.0, eta_spu=0.6)


@pytest.fixture
def calm() -> Mechanism:
    """η_core < η_spu, d1 = 8, d2 = 5, k = 3."""
    return Mechanism.random(np.random.default_rng(8), d1=8, d2=5, k=3, eta_core=0.4, eta_spu=0.9)
