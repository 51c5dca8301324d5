"""Figure 3: the toy flow, where training ends and what retraining can make of it."""

from __future__ import annotations

from ftt.paper.experiment import Experiment, Findings, Request
from ftt.paper.result_table import ResultTable
from ftt.report.tables import TextTable
from ftt.report.theory_maps import toy_chart
from ftt.store import Home
from ftt.theory import single_feature_ratio
from ftt.theory.figure3 import figure_3


def toy_findings(table: ResultTable, request: Request, home: Home) -> Findings:
    """Both flows as numbers and as a picture; the closed form stands beside the integration."""
    toys = figure_3()
    rows = []
    for toy in toys:
        end, ratio = toy.flow.v[-1], float(toy.flow.ratio[-1])
        pairs = [f"({at[0]:.3f}, {at[1]:.3f})" for at in (end, toy.v_test)]
        rows.append([toy.name, *pairs, f"{ratio:.3f}", f"{single_feature_ratio(toy.flow.mechanism):.3f}"])
    columns = ["noise", "v(t): along core, spurious", "retrained", "test error / optimum", "closed form"]
    ratios = [float(toy.flow.ratio[-1]) for toy in toys]
    finding = (
        f"after retraining the test error is {ratios[0]:.2f} times the optimum where the core is less noisy, "
        f"{ratios[1]:.2f} times where it is noisier"
    )
    return Findings(
        [TextTable("d = 2, m = 1, gradient flow to t = 1000", columns, rows)], [finding], {"fig3": toy_chart(toys)}
    )


FIG3 = Experiment(
    "fig3",
    "Figure 3: the toy example",
    "Where does the flow end when the core is less noisy than the shortcut, and when it is noisier?",
    findings=toy_findings,
    reduced="nothing (the start is drawn near the figure's)",
)
