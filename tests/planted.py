"""Results with the numbers a test wants, for everything that is made of results."""

from __future__ import annotations

import numpy as np

from ftt.arrays import pack
from ftt.data.digits import Digits
from ftt.metrics import GroupReport, Rate
from ftt.recipe import Recipe
from ftt.result import Judged, ProbeResult, Result
from ftt.spec import Run, Spec

SPEC = Spec(data=Digits(), backbone="identity", recipe=Recipe())
ROWS = 400


def planted_report(accuracies: dict[str, float], *, clean: bool = True) -> GroupReport:
    """Groups of 400 rows, half of them of each label, with these accuracies."""
    by_attribute = {name: Rate(ROWS * value, ROWS) for name, value in accuracies.items()}
    finer = {(y, name): Rate(rate.right / 2, ROWS // 2) for y in ("no", "yes") for name, rate in by_attribute.items()}
    overall = Rate(sum(rate.right for rate in by_attribute.values()), ROWS * len(by_attribute))
    return GroupReport(overall, by_attribute, finer, clean)


def planted_result(*reports: GroupReport, spec: Spec = SPEC, key: str = "0" * 64) -> Result:
    """The result of a run whose probe seeds gave these reports."""
    probes = tuple(
        ProbeResult(
            seed,
            C=0.1,
            at_edge=False,
            converged=True,
            worst_by_C={0.1: 0.5, 1.0: 0.4},
            report=report,
            predicted=pack(np.zeros(4, dtype=np.int64)),
        )
        for seed, report in enumerate(reports)
    )
    return Result(
        run=Run(spec, key),
        probes=probes,
        judged=Judged(pack(np.zeros(4, dtype=np.int64)), pack(np.arange(4) % 2)),
        dims=64,
        warnings=(),
        explained_variance=None,
        noise={"core": 0.0, "spurious": None},
        train_log=[],
        seconds={"fit": 1.0, "transform": 0.5, "probe": 0.25},
        environment={"python": "3"},
    )


def with_accuracies(worst: float, average: float, *, probe_seeds: int = 1, spec: Spec = SPEC) -> Result:
    """The result of a run with this worst group and this average, the same for every probe seed."""
    report = planted_report({"left": worst, "right": 2 * average - worst})
    return planted_result(*[report] * probe_seeds, spec=spec)
