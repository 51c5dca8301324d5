"""The takeaway of a page: a sentence or two made from the numbers."""

from __future__ import annotations

from collections.abc import Sequence

from ftt.paired import Difference
from ftt.report.cases import Case, Cases, difference
from ftt.report.tables import percent, signed

MOST = 4
"""Variants that one sentence names."""
MOST_FIELDS = 2
SHARES = {0.25: "a quarter", 0.5: "half", 0.75: "three quarters"}


def takeaway(cases: Cases) -> list[str]:
    """What the runs show, in a sentence or two."""
    if len(cases.cases) == 1:
        return _of_one(cases.cases[0])
    focus = cases.focus
    sentences = _of_setting(cases, focus) if len(focus) > 1 else []
    if len(cases.settings()) > 1:
        sentences += _over_settings(cases)
    return sentences or _range(cases)


def _of_one(case: Case) -> list[str]:
    name, rate = case.report.headline
    low, high = rate.interval() if len(case.results) == 1 else case.interval()
    below = case.report.overall.value - rate.value
    over = f"over {len(case.results)} training seeds" if len(case.results) > 1 else f"over {rate.n:,} test rows"
    return [
        f"The worst group ({name}) is classified correctly {percent(rate.value)} % of the time (95 % interval "
        f"{percent(low)} to {percent(high)} {over}), {percent(below)} points below the average of "
        f"{percent(case.report.overall.value)} %."
    ]


def _of_setting(cases: Cases, focus: Sequence[Case]) -> list[str]:
    base = cases.base(focus)
    if base is None:
        return []
    others = [case for case in focus if case is not base]
    found = {id(case): difference(case, base) for case in others}
    named = sorted(others, key=lambda case: -abs(case.mean() - base.mean()))[:MOST] if len(others) > MOST else others
    place, against = cases.where(focus[0]), in_words(cases, base)
    parts = [f"{in_words(cases, case)} {_did(case.mean() - base.mean(), found[id(case)])}" for case in named]
    start = f"At {place}, compared with {against}" if place else f"Compared with {against}"
    return [f"{start}, whose worst group is at {percent(base.mean())} %: {'; '.join(parts)}."]


def _did(gain: float, found: Difference | None) -> str:
    size = f"{100 * abs(gain):.1f} points"
    if found is None:
        return f"{'gained' if gain >= 0 else 'lost'} {size} on it (on other test rows)"
    if not found.distinguishable:
        return f"kept it ({signed(gain)} points, not distinguishable from no change)"
    return (
        f"{'gained' if gain > 0 else 'lost'} {size} on it (95 % interval {signed(found.low)} to {signed(found.high)})"
    )


def _over_settings(cases: Cases) -> list[str]:
    """The range of the gains of every variant that was run in several settings."""
    gains: dict[str, list[tuple[float, Case]]] = {}
    bases = set()
    for setting in cases.settings():
        base = cases.base(setting)
        if base is None:
            continue
        bases.add(cases.label(base))
        for case in setting:
            if case is not base:
                gains.setdefault(cases.label(case), []).append((case.mean() - base.mean(), case))
    several = {name: found for name, found in gains.items() if len(found) > 1}
    if not several or len(bases) != 1:
        return []
    spread = sorted(several, key=lambda name: min(gain for gain, _ in several[name]))[:MOST]
    parts = []
    for name in spread:
        ends = (pick(several[name], key=lambda pair: pair[0]) for pick in (min, max))
        low, high = (f"{signed(gain)} points ({cases.where(case, MOST_FIELDS)})" for gain, case in ends)
        parts.append(f"{name} changes the worst group by {low} to {high}")
    return [f"Over {len(cases.settings())} settings, against {bases.pop()}: {'; '.join(parts)}."]


def _range(cases: Cases) -> list[str]:
    ranked = sorted(cases.cases, key=lambda case: case.mean())
    low, high = ranked[0], ranked[-1]
    return [
        f"Worst-group accuracy of {len(cases.results)} runs goes from {percent(low.mean())} % "
        f"({_both(cases, low)}) to {percent(high.mean())} % ({_both(cases, high)})."
    ]


def _both(cases: Cases, case: Case) -> str:
    return ", ".join(part for part in (cases.label(case), cases.where(case)) if part)


def in_words(cases: Cases, case: Case) -> str:
    """A variant as a sentence names it: what it does, then its name."""
    recipes = [other.recipe for other in cases.focus]
    if recipes.count(case.recipe) > 1:
        return cases.label(case)
    if case.recipe == "init":
        return "the initial features (init)"
    if case.recipe == "erm":
        return "training (erm)"
    if case.recipe == "ftt" and case.p in SHARES:
        return f"freezing {SHARES[case.p]} (ftt)"
    return cases.label(case)
