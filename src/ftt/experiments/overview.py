"""A data set in numbers: group counts of every split, and the two noises as far as they can be known."""

from __future__ import annotations

from ftt.data import GroupedData
from ftt.data.grouped import SPLITS
from ftt.data.noise import core_noise, spurious_noise
from ftt.params import Json


def overview(data: GroupedData) -> dict[str, Json]:
    """Counts by observed label and attribute, and the noises, split by split."""
    present = [name for name in SPLITS if (data.split == name).any()]
    return {
        "rows": len(data),
        "classes": list(data.info.classes),
        "attributes": list(data.info.attributes),
        "counts": {name: data.counts(name).tolist() for name in present},
        "noise": {name: noises(data, name) for name in present},
    }


def noises(data: GroupedData, split: str) -> dict[str, float | None]:
    """Core noise needs the clean labels; spurious noise needs an attribute with one value per class."""
    rows = data.split == split
    paired = len(data.info.classes) == len(data.info.attributes)
    return {
        "core": core_noise(data.y[rows], data.y_clean[rows]) if data.y_clean is not None else None,
        "spurious": spurious_noise(data.y[rows], data.a[rows]) if paired else None,
    }
