"""Rows of a data set as people see them: a few of every group, and those that were classified most wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from ftt.arrays import FloatArray, IntArray, pack, unpack
from ftt.data.contact_sheet import examples
from ftt.data.decoded import peek
from ftt.data.grouped import GroupedData
from ftt.data.inputs import Inputs
from ftt.data.overview import overview
from ftt.report.parts import Example, Examples, Gallery
from ftt.report.tables import TextTable
from ftt.result import Result

EACH, MOST_GROUPS, WORST_GROUPS, MISTAKES = 4, 24, 2, 6
LONGEST = 280
"""Characters of a text that are shown."""


def data_parts(data: GroupedData) -> list[Any]:
    """What the data is, how many rows every group has, and a few of them."""
    found, info = overview(data), data.info
    counts: Any = found["counts"]
    rows = [
        [split, label, *(f"{count:,}" for count in line), f"{sum(line):,}"]
        for split, table in counts.items()
        for label, line in zip(info.classes, table, strict=True)
    ]
    table = TextTable("Rows by observed label and attribute", ("split", "label", *info.attributes, "all"), rows, left=2)
    gallery = group_gallery(data)
    cite = " ".join(part for part in (f"Licence: {info.licence}.", info.citation) if part)
    return [_sentence(info.summary), *([gallery] if gallery else []), table, cite]


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def group_gallery(data: GroupedData) -> Gallery | None:
    """A few training rows of every group; None where the rows are features."""
    if data.inputs.kind == "features":
        return None
    counts, each = data.counts("train"), EACH if data.inputs.kind == "images" else 2
    chosen = [(pair, rows) for pair, rows in examples(data, "train", each, 0).items() if rows.size]
    groups = []
    for (label, value), rows in chosen[:MOST_GROUPS]:
        name = f"{data.info.classes[label]}, {data.info.attributes[value]}"
        shown = shown_rows(data.inputs, rows, [f"A training image of the group {name}"] * len(rows))
        groups.append(Examples(name, shown, f"{int(counts[label, value]):,} training rows"))
    left, empty = len(chosen) - len(groups), int((counts == 0).sum())
    note = (
        "Groups are the observed label and the attribute."
        + f" {empty} groups have no training rows." * bool(empty)
        + f" {left} further groups are not shown." * bool(left)
    )
    return Gallery("A few training rows of every group", groups, note)


def shown_rows(
    inputs: Inputs, rows: IntArray, alts: Sequence[str], lines: Sequence[Sequence[str]] = ()
) -> list[Example]:
    """These rows as images or texts, each with its lines."""
    below = lines or [()] * len(rows)
    if inputs.kind == "texts":
        texts = [" ".join(str(text).split()) for text in inputs.read(rows)]
        cut = [text if len(text) <= LONGEST else f"{text[:LONGEST]}…" for text in texts]
        return [Example(text=text, lines=line) for text, line in zip(cut, below, strict=True)]
    images = [Image.fromarray(p.squeeze(-1) if p.shape[-1] == 1 else p) for p in peek(inputs, rows)]
    return [Example.of_image(i, alt, line) for i, alt, line in zip(images, alts, below, strict=True)]


@dataclass(frozen=True)
class Predictions:
    """What the probes of a run say about every test row.

    Attributes
    ----------
    label, attribute, predicted : (n,) int arrays
        Codes; `predicted` is the class that most probe seeds chose.
    confidence : (n,) float array, optional
        Mean probability of the predicted class over probe seeds; None where it cannot be computed any more.
    agreed : (n,) float array
        Share of probe seeds that chose that class.
    """

    label: IntArray
    attribute: IntArray
    predicted: IntArray
    agreed: FloatArray
    confidence: FloatArray | None = None

    @classmethod
    def of(cls, result: Result, probabilities: FloatArray | None = None) -> Predictions:
        """From a result, and (n, K) mean probabilities where they are known."""
        votes = np.stack([unpack(probe.predicted) for probe in result.probes])
        counts = np.stack([(votes == code).sum(axis=0) for code in range(int(votes.max()) + 1)])
        predicted = counts.argmax(axis=0)
        agreed = counts.max(axis=0) / len(votes)
        sure = None if probabilities is None else probabilities[np.arange(len(predicted)), predicted]
        return cls(unpack(result.judged.label), unpack(result.judged.attribute), predicted, agreed, sure)


def mistakes_gallery(result: Result, data: GroupedData, said: Predictions, name: str) -> Gallery | None:
    """The test rows of the worst groups that are wrong with the most confidence; None where there are none to show."""
    test, info = data["test"], data.info
    if data.inputs.kind == "features" or pack(test.y_clean) != result.judged.label:
        return None
    rates = result.report.by_label_and_attribute
    worst = sorted((pair for pair, rate in rates.items() if rate.n), key=lambda pair: rates[pair].value)
    groups = []
    for label, attribute in worst[:WORST_GROUPS]:
        code, value = info.classes.index(label), info.attributes.index(attribute)
        wrong = np.flatnonzero((said.label == code) & (said.attribute == value) & (said.predicted != code))
        sure = said.agreed if said.confidence is None else said.confidence
        rows = wrong[np.argsort(-sure[wrong], kind="stable")][:MISTAKES]
        if not rows.size:
            continue
        taken = [info.classes[said.predicted[row]] for row in rows]
        lines = [[f"label: {label}", f"predicted: {t}", _sure(said, row)] for t, row in zip(taken, rows, strict=True)]
        alts = [f"A test image of {label}, {attribute} that is classified as {other}" for other in taken]
        note = f"{len(wrong):,} of {rates[label, attribute].n:,} test rows are wrong"
        groups.append(Examples(f"{label}, {attribute}", shown_rows(test.inputs, rows, alts, lines), note))
    if not groups:
        return None
    how = (
        "sorted by the probability of the predicted class, averaged over probe seeds"
        if said.confidence is not None
        else "sorted by the share of probe seeds that agree; probabilities are not available for this run"
    )
    labels = "clean" if result.report.clean else "observed"
    return Gallery(f"{name}: the most confident mistakes in the worst groups", groups, f"By {labels} label, {how}.")


def _sure(said: Predictions, row: int) -> str:
    if said.confidence is not None:
        return f"confidence {said.confidence[row]:.0%}"
    return f"{said.agreed[row]:.0%} of the probe seeds"
