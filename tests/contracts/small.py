"""Sixty-four samples of every kind of input, for contracts that run over everything registered."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ftt.data import ArrayInputs, DatasetInfo, GroupedData
from ftt.data.inputs import Kind

INFO = DatasetInfo("small", ("no", "yes"), ("left", "right"), "a planted rule and a shortcut")
ROWS = 64


class Tripwire(np.ndarray):
    """Clean labels that raise when a row outside the test split is read."""

    allowed: npt.NDArray[np.int64]

    def __getitem__(self, index: object) -> npt.NDArray[np.int64]:  # type: ignore[override]
        rows = np.arange(len(self))[index]  # type: ignore[call-overload]
        if not np.isin(rows, self.allowed).all():
            raise AssertionError("a clean label of train or val was read")
        picked: npt.NDArray[np.int64] = np.asarray(self)[rows]
        return picked


def small_data(kind: Kind = "images", *, tripwire: bool = False) -> GroupedData:
    """64 training rows, 64 for probing, 64 for testing; the label is in the input, the attribute beside it."""
    rng = np.random.default_rng(0)
    n = 3 * ROWS
    y, a = rng.integers(0, 2, n), rng.integers(0, 2, n)
    split = np.repeat(["train", "val", "test"], ROWS)
    clean: npt.NDArray[np.int64] = y.copy()
    if tripwire:
        guarded = clean.view(Tripwire)
        guarded.allowed = np.flatnonzero(split == "test")
        clean = guarded
    return GroupedData(_inputs(kind, y, a, rng), y, a, split, INFO, y_clean=clean)


def _inputs(kind: Kind, y: npt.NDArray[np.int64], a: npt.NDArray[np.int64], rng: np.random.Generator) -> ArrayInputs:
    if kind == "features":
        planted = np.stack([y, a], axis=1) + 0.3 * rng.standard_normal((len(y), 2))
        return ArrayInputs(np.hstack([planted, rng.standard_normal((len(y), 14))]).astype(np.float32), "features")
    if kind == "texts":
        words = [
            f"{('a dull', 'a lovely')[label]} film about {('cats', 'dogs')[mark]}"
            for label, mark in zip(y, a, strict=True)
        ]
        return ArrayInputs(np.array(words), "texts")
    images = rng.integers(0, 60, (len(y), 32, 32, 3))
    images[:, :16] += (120 * y)[:, None, None, None]
    images[:, 16:] += (120 * a)[:, None, None, None]
    return ArrayInputs(images.astype(np.uint8), "images")
