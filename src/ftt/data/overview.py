"""A data set in numbers: group counts of every split, and the two noises as far as they can be known."""

from __future__ import annotations

import numpy as np

from ftt.arrays import IntArray
from ftt.data.grouped import SPLITS, GroupedData
from ftt.data.noise import core_noise, spurious_noise
from ftt.params import Json


def overview(data: GroupedData) -> dict[str, Json]:
    """Counts by observed label and attribute, the noises, and what the attribute alone gets wrong, split by split."""
    present = [name for name in SPLITS if (data.split == name).any()]
    rule = attribute_rule(data)
    return {
        "rows": len(data),
        "classes": list(data.info.classes),
        "attributes": list(data.info.attributes),
        "counts": {name: data.counts(name).tolist() for name in present},
        "noise": {name: noises(data, name) for name in present},
        "attribute_rule": {
            "predicts": {
                data.info.attributes[a]: data.info.classes[rule[a]]
                for a in np.flatnonzero(data.counts("train").sum(axis=0))
            },
            "disagrees": {name: disagreement(data, name, rule) for name in present},
        },
    }


def noises(data: GroupedData, split: str) -> dict[str, float | None]:
    """Core noise needs the clean labels; spurious noise needs an attribute with one value per class.

    Which value belongs to which class is what the training split says: codes of your own data follow the alphabet, so
    that equal codes mean nothing.
    """
    rows = data.split == split
    rule = attribute_rule(data)
    paired = len(data.info.classes) == len(data.info.attributes) and len(np.unique(rule)) == len(rule)
    return {
        "core": core_noise(data.y[rows], data.y_clean[rows]) if data.y_clean is not None else None,
        "spurious": spurious_noise(data.y[rows], rule[data.a[rows]]) if paired else None,
    }


def attribute_rule(data: GroupedData) -> IntArray:
    """(A,) the label that the training split shows most often with each value of the attribute.

    Of a value that it does not show nothing is known but the most frequent label of all.
    """
    counts = data.counts("train")
    # Where two labels are as frequent, equal codes are taken to belong together, as in the data sets of the paper.
    ties = np.eye(*counts.shape) * 0.5
    best = np.argmax(counts + ties, axis=0)
    return np.where(counts.sum(axis=0) > 0, best, np.argmax(counts.sum(axis=1)))


def disagreement(data: GroupedData, split: str, rule: IntArray) -> float:
    """Share of rows whose observed label is not the one that the rule on the attribute alone predicts."""
    rows = data.split == split
    return spurious_noise(data.y[rows], rule[data.a[rows]])
