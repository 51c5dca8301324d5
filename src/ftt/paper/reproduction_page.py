"""The page of an experiment: what was asked, what the paper says, what was measured here."""

from __future__ import annotations

from typing import Any

from ftt.paper.publish import Reproduction
from ftt.report.page import Page, Section
from ftt.report.parts import Code, Figure, Notes
from ftt.report.run_page import downloads

HOW_TO_READ = (
    "A cell is the mean ± standard error over training seeds, (training seeds × probe seeds), then the paper's number "
    "and the difference; with one training seed there is no error."
)


def reproduction_page(made: Reproduction) -> Page:
    """Findings, charts, tables with the paper's numbers beside ours, and how it was made."""
    findings, experiment = made.findings, made.experiment
    sentences = [f"{text[:1].upper()}{text[1:]}." for text in findings.sentences]
    alt = " ".join(sentences) or experiment.question
    figures = [Figure(name, alt, chart, name) for name, chart in findings.charts.items()]
    reduced = experiment.differs(made.request)
    how: list[Any] = [*([f"Reduced against the paper: {reduced}."] if reduced else []), Code(made.command)]
    results = [result for cell in made.table.cells for result in cell.results]
    if results:
        how += [HOW_TO_READ, downloads(results)]
    failed = [f"{len(made.failures)} runs failed and are missing."] if made.failures else []
    said = [Section("What the paper says", [experiment.said])] if experiment.said else []
    found = [Section("Findings", [Notes(sentences[1:])])] if len(sentences) > 1 else []
    charts = [Section("Charts", figures)] if figures else []
    tables = [Section("Tables", findings.tables)]
    sections = [*found, *charts, *tables, *said, Section("How it was made", how)]
    return Page(experiment.title, [*sentences[:1], *failed], sections, experiment.question)
