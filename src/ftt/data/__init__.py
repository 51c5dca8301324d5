"""Data sets: GroupedData, and everything that makes one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ftt import registry
from ftt.data.dataset import Dataset
from ftt.data.grouped import DatasetInfo, Fittable, GroupedData, HeldOut, Split
from ftt.data.inputs import ArrayInputs, Inputs
from ftt.data.roots import Roots

__all__ = [
    "ArrayInputs",
    "Dataset",
    "DatasetInfo",
    "Fittable",
    "GroupedData",
    "HeldOut",
    "Inputs",
    "Roots",
    "Split",
    "load",
]


def load(name: str, *, cache: Path | None = None, root: Path | None = None, **options: Any) -> GroupedData:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        Name of the data set (see `ftt ls datasets`).
    cache, root : Path, optional
        Where fetched and placed files are; default ``FTT_CACHE`` and ``FTT_DATA``.
    **options
        The data set's own parameters, such as ``core_noise=0.2`` and ``seed=0``.

    Examples
    --------
    >>> data = load("digits", core_noise=0.2, spurious_noise=0.0, seed=0)
    >>> data.counts("train").tolist()
    [[320, 0], [0, 320]]
    """
    dataset = registry.DATASETS.build({"name": name, **options})
    return replace(dataset.load(Roots.from_environment(cache, root)), source=dataset)
