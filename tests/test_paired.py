"""Paired differences see what two runs share, and say when they cannot be told apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ftt.arrays import IntArray, pack
from ftt.errors import FttError
from ftt.metrics import report_groups
from ftt.paired import paired_difference
from ftt.result import Judged, Result
from tests.planted import SPEC, planted_report, planted_result

N = 600
RNG = np.random.default_rng(0)
LABEL, GROUP = RNG.integers(0, 2, N), np.arange(N) % 2


def judged_as(predicted: IntArray, seed: int = 0) -> Result:
    """A run with these predictions on the rows above."""
    base = planted_result(planted_report({"zero": 0.5, "one": 0.5}), spec=replace(SPEC, seed=seed))
    report = report_groups(predicted, LABEL, GROUP, SPEC.data.info)
    probe = replace(base.probes[0], report=report, predicted=pack(predicted))
    return replace(base, probes=(probe,), judged=Judged(pack(LABEL), pack(GROUP)))


def flipped(share: float, rng: np.random.Generator) -> IntArray:
    return np.where(rng.random(N) < share, 1 - LABEL, LABEL)


def test_a_run_against_itself_is_exactly_zero() -> None:
    run = judged_as(flipped(0.3, np.random.default_rng(1)))
    found = paired_difference([run], [run])
    assert (found.value, found.low, found.high) == (0, 0, 0)
    assert not found.distinguishable


def test_a_clear_difference_is_found_with_its_sign() -> None:
    good, bad = (judged_as(flipped(share, np.random.default_rng(2))) for share in (0.1, 0.4))
    found = paired_difference([good], [bad])
    assert found.low > 0.15
    assert found.value == pytest.approx(good.worst_group_accuracy - bad.worst_group_accuracy)
    assert paired_difference([bad], [good]).high < -0.15


def test_the_interval_covers_what_two_equal_classifiers_differ_by() -> None:
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(40):
        found = paired_difference([judged_as(flipped(0.3, rng))], [judged_as(flipped(0.3, rng))], draws=400)
        inside += found.low <= 0 <= found.high
    assert inside >= 33


def test_errors_that_both_make_cancel() -> None:
    """The same hard rows in both: the paired interval is narrower than that of either accuracy."""
    shared = flipped(0.3, np.random.default_rng(4))
    better = shared.copy()
    better[np.flatnonzero(shared != LABEL)[:20]] = LABEL[np.flatnonzero(shared != LABEL)[:20]]
    found = paired_difference([judged_as(better)], [judged_as(shared)])
    low, high = judged_as(shared).report.worst[1].interval()
    assert found.high - found.low < 0.6 * (high - low)


def test_other_rows_or_other_seeds_are_refused() -> None:
    run = judged_as(LABEL)
    with pytest.raises(FttError, match="different test rows"):
        paired_difference([run], [replace(run, judged=Judged(pack(LABEL), pack(1 - GROUP)))])
    with pytest.raises(FttError, match="pair by pair"):
        paired_difference([run], [judged_as(LABEL, seed=1)])
