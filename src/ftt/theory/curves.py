"""ERM, FTT and late joining over training time in one setting: the content of `ftt theory flow`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ftt.errors import FttError
from ftt.progress import track
from ftt.theory.bounds import theorem_1, theorem_2
from ftt.theory.gradient_flow import Flow, flow
from ftt.theory.joining import late_joined
from ftt.theory.limits import MAX_TIME, need_memory
from ftt.theory.mechanism import Array
from ftt.theory.setting import Setting

SERIES = ("ratio", "l_tr", "l_te", "c", "drift")


@dataclass(frozen=True, eq=False)
class Curves:
    """Three flows at the same n times.

    Parameters
    ----------
    setting : Setting
    erm, ftt : Flow
        All m features trained, and p·m of them frozen.
    alone : Flow or None
        The (1 − p)m features trained alone that late joining uses; None for p = 1.
    """

    setting: Setting
    erm: Flow
    ftt: Flow
    alone: Flow | None

    @property
    def t(self) -> Array:
        """Recorded times, shape (n,)."""
        return self.erm.t

    @cached_property
    def late(self) -> Array:
        """ℓ_te/err*_te of late joining, shape (n,)."""
        if self.alone is None:
            return self.ftt.ratio
        return late_joined(self.alone, self.setting.frozen) / self.erm.mechanism.err_te

    @property
    def upper(self) -> float:
        """Theorem 1 for ERM, as a ratio to the optimum (also where η_core > η_spu)."""
        return theorem_1(self.erm.mechanism, any_order=True) / self.erm.mechanism.err_te

    @property
    def lower(self) -> float | None:
        """Theorem 2 for ERM, as a ratio to the optimum; None where it does not apply."""
        try:
            return theorem_2(self.erm.mechanism, self.erm.W[-1])
        except FttError:
            return None

    def to_json(self) -> dict[str, Any]:
        mechanism = self.erm.mechanism
        flows = {
            name: {
                **{series: getattr(run, series).tolist() for series in SERIES},
                "c_0": run.c_0,
                "steps": run.steps,
            }
            for name, run in (("erm", self.erm), ("ftt", self.ftt))
        }
        return {
            "setting": self.setting.describe(),
            "t": self.t.tolist(),
            **flows,
            "late": {"ratio": self.late.tolist()},
            "err_tr": mechanism.err_tr,
            "err_te": mechanism.err_te,
            "theorem_1": self.upper,
            "theorem_2": self.lower,
        }


def curves(setting: Setting, t: float = 1e4, points: int = 60) -> Curves:
    """Follow the flows of one setting until time t, recorded at `points` times (0 and a geometric grid).

    Examples
    --------
    >>> found = curves(Setting(d1=8, d2=4, k=2, m=4, p=0.5), t=1e4, points=5)
    >>> bool(found.late[-1] < 1.0001 < found.erm.ratio[-1])
    True
    """
    if not 0 < t <= MAX_TIME:
        raise FttError("t is out of range", given=f"{t:g}", allowed=f"0 < t <= {MAX_TIME:g}")
    if points < 2:
        raise FttError("points must be at least 2", given=points, allowed="points >= 2")
    need_memory("recording the flows", 3, points, setting.d1 + setting.d2, setting.m)
    times = np.concatenate([[0.0], np.geomspace(min(1e-2, t / 10), t, points - 1)[: points - 2], [t]])
    mechanism, m = setting.mechanism(), setting.m
    parts = ((m, 0.0), (m, setting.p), (m - setting.frozen, 0.0))
    erm, ftt, alone = (
        flow(mechanism, width, p, times, rng=setting.start_rng()) if width else None
        for width, p in track(parts, "gradient flow", len(parts))
    )
    assert erm is not None  # both have m >= 1 features
    assert ftt is not None
    return Curves(setting, erm, ftt, alone)
