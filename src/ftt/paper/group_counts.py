"""The appendix table of group counts, from the files that are here, beside the paper's."""

from __future__ import annotations

from ftt import registry
from ftt.data.published import CELEBA, WATERBIRDS, Counts
from ftt.errors import FttError
from ftt.paper.experiment import Experiment, Findings, Request
from ftt.paper.result_table import ResultTable
from ftt.report.tables import TextTable
from ftt.store import Home

GROUPS = ("(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)")
DOMINOES: Counts = {"train": (5000, 0, 0, 5000), "val": (2500,) * 4, "test": (500,) * 4}
PRINTED = {"dominoes": DOMINOES, "waterbirds": WATERBIRDS, "celeba": CELEBA}
SIZES = {"dominoes": {"paper_sizes": True}}


def counts_findings(table: ResultTable, request: Request, home: Home) -> Findings:
    """Counts of every group and split; data sets that are not available are named."""
    rows, findings = [], []
    for name, printed in PRINTED.items():
        data = registry.DATASETS.build({"name": name, **SIZES.get(name, {})})
        # Counting does not justify a download.
        if not all(collection.found(home.roots) for collection in data.collections()):
            findings.append(f"{name}: not counted (not on this machine: ftt data get {name})")
            continue
        try:
            loaded = data.load(home.roots)
        except FttError as missing:
            findings.append(f"{name}: not counted ({missing.problem})")
            continue
        wrong = 0
        for split, expected in printed.items():
            ours = tuple(int(value) for value in loaded.counts(split).ravel())
            wrong += sum(a != b for a, b in zip(ours, expected, strict=True))
            rows += [
                [name, split, group, str(a), str(b), str(a - b) if a != b else "equal"]
                for group, a, b in zip(GROUPS, ours, expected, strict=True)
            ]
        findings.append(f"{name}: {'every count equals the paper’s' if not wrong else f'{wrong} counts differ'}")
    counts = TextTable(
        "rows by (label, attribute), without noise",
        ["data set", "split", "group", "here", "paper", "difference"],
        rows,
    )
    return Findings([counts], findings)


TABLE_COUNTS = Experiment(
    "table-counts",
    "Appendix: the number of rows of every group",
    "Are the data the paper's?",
    findings=counts_findings,
    reduced="nothing",
)
