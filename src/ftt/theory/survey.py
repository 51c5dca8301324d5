"""Every statement against measurement, over many settings: what `ftt theory bounds` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ftt.progress import track
from ftt.theory import bounds
from ftt.theory.flow import Flow, flow, invariant
from ftt.theory.losses import retrained_error
from ftt.theory.mechanism import Mechanism
from ftt.theory.setting import Setting
from ftt.theory.span import excluded_eta_core, span_lemma, theorem_3

Sense = Literal["<=", ">=", "="]

TIMES = (0.0, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7)
"""Recorded times; the last one stands for t = ∞. Near the excluded η_core FTT needs about 10⁶ to arrive."""

LIMIT_SLACK = 1e-6
"""What is left of O(1/t) at the last time, relative, before a limit counts as violated."""


@dataclass(frozen=True)
class Check:
    """One statement in one setting: `measured` `sense` `bound`, in the statement's own units."""

    statement: str
    setting: int
    seed: int
    sense: Sense
    measured: float
    bound: float
    slack: float = 1e-9

    @property
    def holds(self) -> bool:
        room = self.slack * max(1.0, abs(self.bound))
        if self.sense == "=":
            return abs(self.measured - self.bound) <= room
        return self.measured <= self.bound + room if self.sense == "<=" else self.measured >= self.bound - room


@dataclass(frozen=True)
class Line:
    """One statement over all settings."""

    statement: str
    sense: Sense
    checked: int
    held: int
    median_measured: float
    median_bound: float


def survey(settings: Iterable[Setting], seeds: int = 1, *, tolerance: float = 1e-7) -> list[Check]:
    """Check every statement that applies in every setting, for `seeds` starts each."""
    jobs = [(i, setting, seed) for i, setting in enumerate(settings) for seed in range(seeds)]
    checks: list[Check] = []
    for i, setting, seed in track(jobs, "checking the statements", len(jobs)):
        mechanism = setting.mechanism()
        rngs = [np.random.default_rng([setting.seed, 3, seed, way]) for way in range(4)]
        erm = flow(mechanism, setting.m, 0.0, TIMES, rng=rngs[0], rtol=tolerance, atol=tolerance)
        ftt = flow(mechanism, setting.m, setting.p, TIMES, rng=rngs[1], rtol=tolerance, atol=tolerance)
        found = [*_along(erm, "ERM"), *_along(ftt, "FTT"), *_erm_limits(erm), *_ftt_limits(ftt)]
        found += _edges(mechanism, setting, rngs[2], tolerance)
        checks += [replace(check, setting=i, seed=seed) for check in found]
    return checks


def summarise(checks: Iterable[Check]) -> list[Line]:
    """Count by statement, in the paper's order."""
    groups: dict[tuple[str, Sense], list[Check]] = {}
    for check in checks:
        groups.setdefault((check.statement, check.sense), []).append(check)
    return [
        Line(
            statement,
            sense,
            len(group),
            sum(check.holds for check in group),
            float(np.median([check.measured for check in group])),
            float(np.median([check.bound for check in group])),
        )
        for (statement, sense), group in sorted(groups.items(), key=lambda item: _place(item[0][0]))
    ]


_ORDER = (
    "Lemma",
    "decomp",
    "c_t",
    "training",
    "premise",
    "test-error",
    "limit",
    "Theorem 1",
    "Theorem 2",
    "span",
    "Theorem 3",
)


def _place(statement: str) -> int:
    return next((i for i, prefix in enumerate(_ORDER) if statement.startswith(prefix)), len(_ORDER))


def _check(
    statement: str, measured: float | np.floating[Any], sense: Sense, bound: float, slack: float = 1e-9
) -> Check:
    return Check(statement, 0, 0, sense, float(measured), float(bound), slack)


def _tightest(found: list[Check]) -> Check:
    """Of one statement at many times, the one with the least room."""
    sign = -1 if found[0].sense == ">=" else 1
    return min(found, key=lambda check: sign * (check.bound - check.measured) / max(abs(check.bound), 1e-300))


def _along(run: Flow, way: str) -> Iterator[Check]:
    """Statements for every t, in units of their optimum; each reported at the time where it is tightest."""
    mechanism, tr, te = run.mechanism, run.mechanism.err_tr, run.mechanism.err_te
    lemma, split, c_low, c_high = [], [], [], []
    decay: dict[bounds.DecayVariant, list[Check]] = {"gronwall": [], "paper": []}
    for t, W, b, l_tr, l_te, c in zip(run.t, run.W, run.b, run.l_tr, run.l_te, run.c, strict=True):
        lemma.append(_check(f"Lemma 1, ℓ_tr/err*_tr ({way})", l_tr / tr, ">=", bounds.lemma_1(mechanism) / tr))
        split.append(
            _check(f"decomposition, ℓ_te/err*_te ({way})", l_te / te, "<=", bounds.decomposition(mechanism, W, b) / te)
        )
        low, high = bounds.c_interval(mechanism, l_tr)
        c_low.append(_check(f"c_t from below ({way})", c, ">=", low, 1e-7))
        c_high.append(_check(f"c_t from above ({way})", c, "<=", high, 1e-7))
        for variant, found in decay.items():
            name = "" if variant == "gronwall" else " with ‖M(0)‖ = 2"
            limit = bounds.training_decay(mechanism, run.start, run.c_0, t, variant=variant) / tr - 1
            if t > 0 and limit > 1e-9:  # at t = 0 it is an equation, and late both sides are rounding
                found.append(_check(f"training decay{name}, ℓ_tr/err*_tr − 1 ({way})", l_tr / tr - 1, "<=", limit))
    yield from (_tightest(found) for found in (lemma, split, c_low, c_high, *decay.values()) if found)


def _erm_limits(run: Flow) -> Iterator[Check]:
    mechanism, start, W, ratio = run.mechanism, run.start, run.W[-1], float(run.ratio[-1])
    err = mechanism.err_te
    yield _check("premise ‖W(0)‖ <= 1", np.linalg.norm(start.W, 2), "<=", 1.0)
    yield _check("premise ‖M(0)‖ <= 2", np.linalg.norm(invariant(start.W, start.b), 2), "<=", 2.0)
    yield _check("premise ‖W₂(∞)‖² < 2", np.linalg.norm(W[mechanism.d1 :], 2) ** 2, "<=", 2.0)
    yield _check("test-error identity", ratio, "=", bounds.error_identity(mechanism, W, tolerance=1e-3), LIMIT_SLACK)
    yield _check("limit of one feature", ratio, "<=", bounds.single_feature_ratio(mechanism), LIMIT_SLACK)
    order = "η_core < η_spu" if mechanism.eta_core < mechanism.eta_spu else "η_core > η_spu"
    limit = bounds.theorem_1(mechanism, any_order=True) / err
    yield _check(f"Theorem 1, {order}", ratio, "<=", limit, LIMIT_SLACK)
    if mechanism.eta_core > mechanism.eta_spu:
        yield _check("Theorem 2, Σ⁻¹ (main text)", ratio, ">=", bounds.theorem_2(mechanism, W))
        limit = bounds.theorem_2(mechanism, W, variant="appendix")
        yield _check("Theorem 2, Σ (appendix lemma)", ratio, ">=", limit)
        # Other units change neither W(∞) nor the ratio, so a true bound must survive them.
        limit = bounds.theorem_2(mechanism.rescaled(0.1), W, variant="appendix")
        yield _check("Theorem 2, Σ, x and y in tenths", ratio, ">=", limit)
        limit = bounds.theorem_2(mechanism, W, variant="start", start=start)
        yield _check("Theorem 2, Σ⁻¹ and the actual start", ratio, ">=", limit)


def _ftt_limits(run: Flow) -> Iterator[Check]:
    mechanism, frozen = run.mechanism, run.start.frozen
    lemma = span_lemma(mechanism)
    top = mechanism.spectrum[1][:, : mechanism.k]
    inside = np.concatenate([mechanism.beta, lemma.c_1 * mechanism.gamma])
    away = np.linalg.norm(inside - top @ (top.T @ inside))
    yield _check("span lemma, distance of (β, c₁γ)", away, "=", 0.0, 1e-8)
    limits = [theorem_3(mechanism, frozen, v) for v in run.v]
    err = mechanism.err_te
    statement = "Theorem 3 before its O(1/t)"
    yield _tightest(
        [_check(statement, l_te / err, "<=", limit / err) for l_te, limit in zip(run.l_te, limits, strict=True)]
    )
    yield _check("Theorem 3, p·m = k", run.ratio[-1], "<=", theorem_3(mechanism, frozen) / err, LIMIT_SLACK)


def _edges(mechanism: Mechanism, setting: Setting, rng: np.random.Generator, tolerance: float) -> Iterator[Check]:
    """Where Theorem 3 should stop to hold, and where it should not."""

    def end(at: Mechanism, p: float) -> float:
        W = flow(at, setting.m, p, TIMES[-1], rng=rng, rtol=tolerance, atol=tolerance).W[-1]
        return retrained_error(at, W) / at.err_te

    yield _check("stall with p·m = k − 1", end(mechanism, (mechanism.k - 1) / setting.m), ">=", 1 + 1e-4)
    excluded = excluded_eta_core(mechanism)
    p = mechanism.k / setting.m
    yield _check("stall at the excluded η_core", end(mechanism.with_noise(eta_core=excluded), p), ">=", 1 + 1e-2)
    near = mechanism.with_noise(eta_core=1.02 * excluded)
    yield _check("no stall 2 % away", end(near, p), "<=", 1.0, LIMIT_SLACK)
