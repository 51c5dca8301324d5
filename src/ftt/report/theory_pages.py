"""Pages of the theory lab: a title, the findings computed from the numbers, a table and charts with alt text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ftt.report import charts, page
from ftt.report.page import Page, Section
from ftt.report.parts import Figure
from ftt.report.tables import TextTable
from ftt.report.theory_charts import bounds_chart, flow_chart
from ftt.report.theory_maps import phase_chart, sweep_chart, toy_chart
from ftt.theory.curves import Curves
from ftt.theory.figure3 import PlaneFlow
from ftt.theory.phases import METHODS, PhaseDiagram, Sweep
from ftt.theory.surveys import Line, Survey

FOOTER = "All numbers are population values of the paper's linear model (Section 3), without units."
ABOUT = (
    "The paper's theory: a linear network with m features of d inputs, trained by gradient flow on labels that are "
    "noisy with respect to the core (η_core) and whose shortcut is noisy too (η_spu), then retrained at test time."
)
CLOSE = 1.01
"""Ratio to the optimum below which a cell of the phase diagram counts as solved."""


@dataclass(frozen=True)
class TheoryPage:
    """What one `ftt theory` command shows: on the terminal, and as a page with figures."""

    title: str
    findings: Sequence[str]
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: Sequence[Figure]

    def page(self) -> Page:
        """The findings, the charts and the table."""
        table = TextTable(self.caption, self.columns, self.rows)
        return Page(
            self.title, self.findings, [Section("Charts", self.figures), Section("Numbers", [table, FOOTER])], ABOUT
        )

    def write(self, folder: Path) -> list[Path]:
        """Write PNG and SVG of every figure, and one HTML page named after the first; return the paths."""
        paths: list[Path] = []
        for figure in self.figures:
            paths += charts.save(figure.described(), folder, figure.name, ("png", "svg"))
        return [*paths, page.write(folder / f"{self.figures[0].name}.html", self.page())]


def flow_page(found: Curves) -> TheoryPage:
    """ERM, FTT and late joining over training time."""
    erm, ftt, late = (float(ratio[-1]) for ratio in (found.erm.ratio, found.ftt.ratio, found.late))
    setting, t = found.setting, found.t[-1]
    lower = "" if found.lower is None else f" and at least {found.lower:.4g} by Theorem 2"
    if found.lower is not None and erm < found.lower * (1 - 1e-9):
        lower += f", which does not hold here (measured {erm:.4g})"
    findings = [
        f"At t = {t:g} the test error after retraining is {erm:.4f} times the optimum for ERM, {ftt:.4f} times for FTT "
        f"with {setting.frozen} of {setting.m} features frozen, and {late:.4f} times for late joining.",
        f"For t → ∞, ERM is at most {found.upper:.4g} times the optimum by Theorem 1{lower}.",
    ]
    columns = ("t", "ERM test", "FTT test", "late joining test", "ERM train", "FTT train", "ERM c_t", "FTT c_t")
    series = (
        found.t,
        found.erm.ratio,
        found.ftt.ratio,
        found.late,
        *(run.l_tr / run.mechanism.err_tr for run in (found.erm, found.ftt)),
        found.erm.c,
        found.ftt.c,
    )
    kept = sorted({*range(0, found.t.size, max(1, found.t.size // 10)), found.t.size - 1})
    rows = [[f"{values[i]:.5g}" for values in series] for i in kept]
    alt = (
        f"Four panels over training time. Test error over optimum ends at {erm:.3g} for ERM, {ftt:.3g} for FTT and "
        f"{late:.3g} for late joining; training errors fall below their bounds; the weight on the spurious feature "
        f"tends to {1 - found.erm.mechanism.alpha:.3g}; the invariant changes by at most "
        f"{max(found.erm.drift.max(), found.ftt.drift.max()):.1g}."
    )
    caption = "Errors relative to the optimum, and weight on the spurious feature"
    figure = Figure("Curves over training time", alt, flow_chart(found), "flow")
    return TheoryPage("Gradient flow of ERM, FTT and late joining", findings, caption, columns, rows, [figure])


def bounds_page(found: Survey) -> TheoryPage:
    """Every statement measured against its bound."""
    lines, trials = found.lines, len(found.settings) * found.seeds
    broken = [line for line in lines if line.held < line.checked]
    names = "; ".join(f"{line.statement} ({line.held} of {line.checked})" for line in broken)
    rest = f"Exceptions, with how often they held: {names}." if broken else "There was no exception."
    ftt, late = (found.line(name) for name in ("Theorem 3, p·m = k", "late joining, k components"))
    findings = [
        f"{len(lines) - len(broken)} of {len(lines)} statements held in every trial "
        f"({len(found.settings)} random mechanisms, starts per mechanism: {found.seeds}). {rest}",
        f"With k frozen components the test error reached the optimum in {ftt.held} of {ftt.checked} trials for FTT "
        f"(Theorem 3) and in {late.held} of {late.checked} for late joining.",
    ]
    columns = ("statement", "held", "checked", "median measured", "", "median bound")
    alt = (
        f"Scatter plots of measured test error against the bounds of Theorems 1 and 2 over {trials} trials, and the "
        f"error above the optimum that remains for FTT and late joining: near zero with k components, above "
        f"{_smallest_stall(found):.2g} at the excluded noise or with k − 1 components."
    )
    figure = Figure("Measured against bound", alt, bounds_chart(found.checks), "bounds")
    rows = [_bound_row(line) for line in lines]
    return TheoryPage("The paper's statements against measurement", findings, "All statements", columns, rows, [figure])


def _bound_row(line: Line) -> list[str]:
    medians = f"{line.median_measured:.5g}", line.sense, f"{line.median_bound:.5g}"
    return [line.statement, f"{line.held}", f"{line.checked}", *medians]


def _smallest_stall(found: Survey) -> float:
    return min(check.measured - 1 for check in found.checks if "stalls" in check.statement)


def toy_page(flows: Sequence[PlaneFlow]) -> TheoryPage:
    """The paper's Figure 3."""
    calm, noisy = flows
    finding = (
        f"After retraining, the test error is {calm.ratio:.3g} times the optimum when the core feature is the less "
        f"noisy one and {noisy.ratio:.3g} times when it is the noisier one."
    )
    columns = ("setting", "v(t)", "v(t) retrained", "test error / optimum", "closed form", "Theorem 1")
    rows = []
    for each in flows:
        pairs = [f"({at[0]:.4f}, {at[1]:.4f})" for at in (each.flow.v[-1], each.v_test)]
        numbers = (each.ratio, each.closed_form, each.to_json()["theorem_1"])
        rows.append([each.name, *pairs, *(f"{value:.5f}" for value in numbers)])
    ends = [f"({each.flow.v[-1][0]:.2f}, {each.flow.v[-1][1]:.2f})" for each in flows]
    alt = (
        f"Paths of v(t) in the plane of core and spurious feature. They end at {ends[0]} for the less noisy core and "
        f"at {ends[1]} for the noisier core, given as (core, spurious); bars split the remaining test error into its "
        "two parts."
    )
    title = "Figure 3 of the paper, computed"
    figure = Figure("Flows in the plane", alt, toy_chart(flows), "toy")
    return TheoryPage(title, [finding], "Two inputs, one learned feature", columns, rows, [figure])


def phase_page(result: PhaseDiagram, sweep: Sweep) -> TheoryPage:
    """Test error over both noises, and over the number of frozen components."""
    solved = {name: int((getattr(result, name) < CLOSE).sum()) for name in METHODS}
    cells = result.ftt.size
    findings = [
        f"The test error is within 1 % of the optimum in {solved['ftt']} of {cells} cells for FTT, {solved['late']} "
        f"for late joining, {solved['erm']} for ERM and {solved['pca']} for PCA.",
        _ridge(result),
        _over_p(sweep),
    ]
    labels = {"erm": "ERM", "pca": "PCA", "ftt": "FTT", "late": "late joining"}
    rows = []
    for name, label in labels.items():
        values = getattr(result, name)
        numbers = (values.min(), np.median(values), values.max())
        rows.append([label, *(f"{value:.4f}" for value in numbers), f"{values.size - solved[name]} of {values.size}"])
    maps = Figure(
        "Over the two noises", f"Four heat maps over the two noises. {findings[0]}", phase_chart(result), "phase"
    )
    names = [f"core noise {core:.3g}, spurious noise {spu:.3g}" for core, spu in sweep.noises]
    names[-1] += " (excluded)"
    over = Figure("Over the number of frozen components", findings[-1], sweep_chart(sweep, names), "phase-p")
    columns = ("method", "smallest", "median", "largest", "cells above 1.01")
    return TheoryPage("Phase diagram of the two noises", findings, "Test error / optimum", columns, rows, [maps, over])


def _over_p(sweep: Sweep) -> str:
    """FTT just below and at k frozen components, or with as many as there are."""
    means, (core, spu) = sweep.ratios[0].mean(axis=1), sweep.noises[0]
    counts = sorted({min(sweep.k, sweep.network.m) - 1, min(sweep.k, sweep.network.m)})
    parts = " and ".join(f"{means[count]:.3f} times the optimum with {count} features frozen" for count in counts)
    return f"At core noise {core:.3g} and spurious noise {spu:.3g} FTT has a test error of {parts} (k = {sweep.k})."


def _ridge(result: PhaseDiagram) -> str:
    """How far from the excluded noise FTT and late joining still miss the optimum."""
    parts = []
    distance = np.abs(np.log(result.eta_core[:, None] / result.excluded[None, :]))
    for name, values in (("FTT", result.ftt), ("late joining", result.late)):
        missed = values >= CLOSE
        if missed.any():
            parts.append(f"for {name} within a factor of {np.exp(distance[missed].max()):.3g}")
    if not parts:
        return "FTT and late joining miss the optimum in no cell."
    return f"The cells where they miss it lie near the core noise that Theorem 3 excludes: {' and '.join(parts)} of it."
