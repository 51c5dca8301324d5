"""What can be said before anything is trained: the two noises, what the backbone carries, and the verdict."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ftt.diagnosis.estimate import Estimate
from ftt.diagnosis.verdict import CANNOT_TELL, HARMS, HELPS, NO_ANSWER, NO_SHORTCUT, Verdict
from ftt.metrics import Rate
from ftt.params import Json
from ftt.report.tables import TextTable

if TYPE_CHECKING:
    from altair import TopLevelMixin
    from pandas import DataFrame

    from ftt.report.page import Page

HEADLINES = {
    HELPS: "training is expected to help",
    HARMS: "training is expected to harm",
    CANNOT_TELL: "cannot tell whether training helps or harms",
    NO_SHORTCUT: "there is no shortcut in this attribute",
    NO_ANSWER: "no answer",
}


@dataclass(frozen=True)
class Diagnosis:
    """The answer of `ftt diagnose`.

    Attributes
    ----------
    name, backbone : str
        What was looked at, and with which features.
    train_rows, target_rows : int
    spurious : Estimate, optional
        η_spu: share of training labels that the attribute alone misses.
    core : Estimate, optional
        η_core: share of labels that are wrong with respect to the core, from the target split.
    label, attribute : Rate, optional
        Out-of-fold probes on the target split: observed labels and attributes predicted from the features.
    verdict : Verdict
    notes : tuple of str
        What to know before trusting the numbers.
    seconds : float
        Time it took, features apart.
    """

    name: str
    backbone: str
    train_rows: int
    target_rows: int
    verdict: Verdict
    spurious: Estimate | None = None
    core: Estimate | None = None
    label: Rate | None = None
    attribute: Rate | None = None
    notes: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        verdict = self.verdict
        text = HEADLINES[verdict.answer]
        if verdict.answer in (HELPS, HARMS):
            gain = verdict.gain
            assert gain is not None
            sure = "" if verdict.sure else "probably: "
            text = f"{sure}{text}, by about {100 * abs(gain.value):.0f} points ({_points(gain)}) on the worst group"
        return text

    def sentences(self) -> list[str]:
        """The verdict in plain words: the answer, why, what to run, and what would make it certain."""
        verdict = self.verdict
        lines = [self.headline, *verdict.reasons]
        if verdict.answer in (HELPS, HARMS, CANNOT_TELL):
            lines.append(f"advised: --recipe {verdict.recipe}; with --recipe ftt, --p {verdict.p:g}")
        elif verdict.answer == NO_SHORTCUT:
            lines.append(f"advised: --recipe {verdict.recipe}; this attribute is no reason to freeze anything")
        return lines

    def table(self) -> TextTable:
        """One row per quantity."""
        rows = [
            ["spurious noise", "training labels that the attribute alone misses", *_cells(self.spurious)],
            ["core noise", "labels that are wrong with respect to the core", *_cells(self.core)],
            ["label", "target labels that a probe predicts from the features", *_rate(self.label)],
            ["attribute", "target attributes that a probe predicts", *_rate(self.attribute)],
        ]
        title = f"{self.name} · {self.backbone}: {self.train_rows:,} training and {self.target_rows:,} target rows (%)"
        return TextTable(title, ("what", "share of", "estimate", "95 % interval"), rows, left=2)

    def chart(self) -> TopLevelMixin:
        """Where the data lie in the plane of the two noises, and what training is expected to do there."""
        from ftt.diagnosis.chart import plane

        return plane(self)

    def page(self) -> Page:
        """The verdict, where the data lie in the plane of the noises, the numbers, and what to know about them."""
        from ftt.report.page import Page, Section
        from ftt.report.parts import Figure, Notes

        said = [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in self.sentences()]
        shown = "; ".join(f"{row[0]} {row[2]} % ({row[3]})" for row in self.table().rows[:2] if row[3])
        alt = f"{said[0]} {shown[:1].upper()}{shown[1:]}."
        chart = Figure("The data in the plane of the two noises", alt, self.chart(), "diagnosis")
        notes = [Section("What to know", [Notes(self.notes)])] if self.notes else []
        sections = [Section("Where the data lie", [chart]), Section("Estimates", [self.table()]), *notes]
        return Page(f"Diagnosis of {self.name}", said, sections)

    def to_json(self) -> dict[str, Json]:
        return {
            "data": self.name,
            "backbone": self.backbone,
            "train_rows": self.train_rows,
            "target_rows": self.target_rows,
            "spurious_noise": self.spurious.to_json() if self.spurious else None,
            "core_noise": self.core.to_json() if self.core else None,
            "label_accuracy": self.label.to_json() if self.label else None,
            "attribute_accuracy": self.attribute.to_json() if self.attribute else None,
            "verdict": {"headline": self.headline, **self.verdict.to_json()},
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    def to_frame(self) -> DataFrame:
        """One row per quantity: estimate and limits of its interval."""
        import pandas

        rates = {"label_accuracy": self.label, "attribute_accuracy": self.attribute}
        found = {"spurious_noise": self.spurious, "core_noise": self.core, "gain": self.verdict.gain}
        found |= {name: Estimate.from_rate(rate) if rate else None for name, rate in rates.items()}
        return pandas.DataFrame([{"quantity": name, **e.to_json()} for name, e in found.items() if e is not None])

    def __str__(self) -> str:
        return "\n".join([self.table().to_markdown(), *self.sentences(), *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        body = "".join(f"<tr>{_html_cells(row)}</tr>" for row in self.table().rows)
        words = "".join(f"<p>{html.escape(line)}</p>" for line in self.sentences())
        notes = "".join(f"<p>note: {html.escape(note)}</p>" for note in self.notes)
        return f"<p>{html.escape(self.table().title)}</p><table>{body}</table>{words}{notes}"


def _html_cells(row: Sequence[str]) -> str:
    return "".join(f"<td>{html.escape(cell)}</td>" for cell in row)


def _cells(estimate: Estimate | None) -> tuple[str, str]:
    if estimate is None:
        return "–", ""
    return f"{100 * estimate.value:.1f}", f"{100 * estimate.low:.1f} – {100 * estimate.high:.1f}"


def _rate(rate: Rate | None) -> tuple[str, str]:
    return _cells(Estimate.from_rate(rate) if rate else None)


def _points(gain: Estimate) -> str:
    return f"{100 * gain.low:+.0f} to {100 * gain.high:+.0f}".replace("-", "−")
