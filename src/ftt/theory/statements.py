"""The statements of the paper, and those on joining, each measured in one setting from one start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ftt.theory import bounds
from ftt.theory.gradient_flow import Flow, flow, follow, invariant, xavier_start
from ftt.theory.joining import join, late_joined, late_joining, taught_bound, teacher_of
from ftt.theory.losses import retrained_error
from ftt.theory.mechanism import Array, Mechanism
from ftt.theory.setting import Setting
from ftt.theory.span import excluded_eta_core, span_lemma, theorem_3

Sense = Literal["<=", ">=", "="]

TIMES = (0.0, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7)
"""Recorded times; the last one stands for t = ∞. Near the excluded η_core FTT needs about 10⁶ to converge."""

LIMIT_SLACK = 1e-6
"""Relative rest of O(1/t) at the last time below which a limit counts as reached."""

STALL = 1 + 1e-4
"""Ratio above which features count as unable to reach the optimum."""

ORDER = (
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
    "FTT",
    "late",
    "both",
    "taught",
)
"""Beginnings of the statements' names, in the order of the table."""


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
        """Whether the inequality (or equation) is satisfied, up to the slack."""
        room = self.slack * max(1.0, abs(self.bound))
        if self.sense == "=":
            return abs(self.measured - self.bound) <= room
        return self.measured <= self.bound + room if self.sense == "<=" else self.measured >= self.bound - room


@dataclass(frozen=True)
class Trial:
    """One setting, one start."""

    setting: Setting
    seed: int
    tolerance: float

    def rng(self, way: int) -> np.random.Generator:
        """Randomness of one group of flows."""
        return np.random.default_rng([self.setting.seed, 3, self.seed, way])

    def checks(self) -> Iterator[Check]:
        """All statements, measured."""
        mechanism, m = self.setting.mechanism(), self.setting.m
        erm = flow(mechanism, m, 0.0, TIMES, rng=self.rng(0), tolerance=self.tolerance)
        ftt = flow(mechanism, m, self.setting.p, TIMES, rng=self.rng(1), tolerance=self.tolerance)
        alone = flow(mechanism, m - mechanism.k, 0.0, TIMES, rng=self.rng(3), tolerance=self.tolerance)
        yield from _along(erm, "ERM")
        yield from _along(ftt, "FTT")
        yield from _erm_limits(erm)
        yield from _ftt_limits(ftt)
        yield from _late_limits(alone)
        yield from _both(erm)
        yield from self._edges(mechanism)
        yield from self._taught(mechanism, {"ERM": erm.W[-1], "joined": _late(alone, mechanism.k)})

    def _edges(self, mechanism: Mechanism) -> Iterator[Check]:
        """Where the guarantees of FTT and of late joining should end, and where they should not."""
        excluded, k = excluded_eta_core(mechanism), mechanism.k
        at, near = (mechanism.with_noise(eta_core=factor * excluded) for factor in (1.0, 1.02))
        for way, generator in (("FTT", self.rng(2)), ("late joining", self.rng(4))):
            short = self._ends(mechanism, way, k - 1, generator)[-1]
            yield _check(f"{way} stalls with k − 1 components", short, ">=", STALL)
            yield _check(f"{way} stalls at the excluded η_core", self._ends(at, way, k, generator)[-1], ">=", 1.01)
            early, late = self._ends(near, way, k, generator)
            yield _check(f"{way} 2 % away from it, t = 10⁷", late, "<=", 1.0, LIMIT_SLACK)
            yield _check(f"{way} 2 % away from it, t = 10⁴", early, "<=", 1.0, LIMIT_SLACK)

    def _ends(self, at: Mechanism, way: str, frozen: int, rng: np.random.Generator) -> Array:
        """ℓ_te/err*_te at t = 10⁴ and 10⁷ with m features in all, `frozen` of them principal components."""
        m, times = self.setting.m, (1e4, TIMES[-1])
        if way == "FTT":
            return flow(at, m, frozen / m, times, rng=rng, tolerance=self.tolerance).ratio
        return late_joined(flow(at, m - frozen, 0.0, times, rng=rng, tolerance=self.tolerance), frozen) / at.err_te

    def _taught(self, mechanism: Mechanism, teachers: dict[str, Array]) -> Iterator[Check]:
        """Students of the probes on the given features W (d, ·)."""
        rng = self.rng(5)
        for name, W in teachers.items():
            start, teacher = xavier_start(mechanism, self.setting.m, 0.0, rng), teacher_of(mechanism, W)
            run = follow(mechanism, start, TIMES, teacher=teacher, tolerance=self.tolerance)
            err = mechanism.err_te
            limits = [taught_bound(mechanism, teacher, v) / err for v in run.v]
            yield _always(f"taught by {name}, every t", run.ratio, limits)
            own = retrained_error(mechanism, W) / err
            yield _check(f"taught by {name}: no worse than its teacher", run.ratio[-1], "<=", own, LIMIT_SLACK)


def _late(alone: Flow, frozen: int) -> Array:
    return join(alone.mechanism.components(frozen), alone.W[-1])


def _check(
    statement: str, measured: float | np.floating[Any], sense: Sense, bound: float, slack: float = 1e-9
) -> Check:
    return Check(statement, 0, 0, sense, float(measured), float(bound), slack)


def _tightest(found: list[Check]) -> Check:
    """The check of one statement with the smallest margin over time."""
    sign = -1 if found[0].sense == ">=" else 1
    return min(found, key=lambda check: sign * (check.bound - check.measured) / max(abs(check.bound), 1e-300))


def _always(statement: str, ratios: Array, limits: Sequence[float]) -> Check:
    """An upper bound at all recorded times."""
    return _tightest([_check(statement, ratio, "<=", limit) for ratio, limit in zip(ratios, limits, strict=True)])


def _along(run: Flow, way: str) -> Iterator[Check]:
    """Statements for every t, in units of their optimum; each reported at the time where its margin is smallest."""
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
            if t > 0 and limit > 1e-9:  # equality at t = 0, rounding on both sides late
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
    top = mechanism.components(mechanism.k)
    inside = np.concatenate([mechanism.beta, lemma.c_1 * mechanism.gamma])
    away = np.linalg.norm(inside - top @ (top.T @ inside))
    yield _check("span lemma, distance of (β, c₁γ)", away, "=", 0.0, 1e-8)
    err = mechanism.err_te
    yield _always("Theorem 3, every t", run.ratio, [theorem_3(mechanism, frozen, v) / err for v in run.v])
    yield _check("Theorem 3, p·m = k", run.ratio[-1], "<=", theorem_3(mechanism, frozen) / err, LIMIT_SLACK)


def _late_limits(alone: Flow) -> Iterator[Check]:
    mechanism, k, err = alone.mechanism, alone.mechanism.k, alone.mechanism.err_te
    ratios = late_joined(alone, k) / err
    yield _always("late joining, every t", ratios, [late_joining(mechanism, k, v) / err for v in alone.v])
    yield _check("late joining, k components", ratios[-1], "<=", late_joining(mechanism, k) / err, LIMIT_SLACK)


def _both(erm: Flow) -> Iterator[Check]:
    """All initial beside all trained features, if the initial features are x itself and if they are xW(0)."""
    mechanism, W = erm.mechanism, erm.W[-1]
    err = mechanism.err_te
    whole = retrained_error(mechanism, join(np.eye(mechanism.d), W)) / err
    yield _check("both, initial features x", whole, "<=", 1.0)
    first = retrained_error(mechanism, join(erm.start.W, W)) / err
    yield _check("both, initial features xW(0): no worse than ERM", first, "<=", float(erm.ratio[-1]))
