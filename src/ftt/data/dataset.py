"""What every data set shares: its contract, and how pairs of pools become one GroupedData."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ftt.arrays import IntArray
from ftt.data.fetch import Collection
from ftt.data.grouped import DatasetInfo, GroupedData
from ftt.data.inputs import ArrayInputs, Kind
from ftt.data.pairing import Pairs
from ftt.data.roots import Roots
from ftt.errors import FttError
from ftt.params import Configurable, Json


class NotPlacedError(FttError):
    """The files of a data set are not where the user's folders or packages are."""


@dataclass(frozen=True)
class Dataset(Configurable, ABC):
    """A data set: its parameters are its fields, `load` makes the arrays.

    A subclass is a frozen dataclass with `name` and `info`. One that reads the user's files names the parameters that
    are paths in `paths` and identifies what these files hold in `content`. How a data set is trained and probed by
    default is in `ftt.settings`.
    """

    info: ClassVar[DatasetInfo]
    paths: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def collections(cls) -> tuple[Collection, ...]:
        """Files to fetch first; none by default."""
        return ()

    @classmethod
    def find(cls, roots: Roots) -> Path | None:
        """Where the files are that the user places or installs; None for a data set that has none.

        Raises `NotPlacedError` where they are missing.
        """
        return None

    @abstractmethod
    def load(self, roots: Roots) -> GroupedData:
        """Read, add noise, split."""

    def content(self, roots: Roots) -> Json:
        """Checksums of the user's files; None where there are none, or none yet."""
        return None

    def fingerprint(self, roots: Roots) -> dict[str, Json]:
        """What identifies the rows: the parameters, with the content of files in place of their paths.

        A copy of the data elsewhere has the same fingerprint, other content under the same path a new one.
        """
        parameters = {key: value for key, value in self.identity().items() if key not in self.paths}
        return {**parameters, "content": self.content(roots)}

    @property
    def kind(self) -> Kind:
        """What the inputs are."""
        return "images"


def assemble(info: DatasetInfo, images: npt.NDArray[Any], parts: Mapping[str, Pairs]) -> GroupedData:
    """One GroupedData of pairs made split by split; `images` holds the splits in the order of `parts`."""
    joined = {
        name: np.concatenate([getattr(p, name) for p in parts.values()])
        for name in ("y", "y_clean", "a", "core_flipped", "spurious_flipped")
    }
    split = np.concatenate([np.full(len(p.y), name) for name, p in parts.items()])
    ids = np.concatenate([[f"{name}-{row}" for row in range(len(p.y))] for name, p in parts.items()])
    return GroupedData(
        inputs=ArrayInputs(images, "images"),
        y=joined["y"],
        a=joined["a"],
        split=split,
        info=info,
        y_clean=joined["y_clean"],
        ids=ids,
        flipped={"core": joined["core_flipped"], "spurious": joined["spurious_flipped"]},
    )


def pick_balanced(labels: IntArray, sizes: tuple[int, ...], rng: np.random.Generator) -> tuple[IntArray, ...]:
    """Disjoint row sets of these sizes, each with equal numbers (±1) of the two labels."""
    pools = [list(rng.permutation(np.flatnonzero(labels == label))) for label in (0, 1)]
    picked = []
    for size in sizes:
        quota = (size - size // 2, size // 2)
        if any(len(pool) < wanted for pool, wanted in zip(pools, quota, strict=True)):
            raise FttError(
                "too few samples of a class for splits of these sizes",
                given=f"sizes {sizes}",
                allowed=f"together at most {2 * min(int((labels == c).sum()) for c in (0, 1))}",
            )
        rows = [pool.pop() for pool, wanted in zip(pools, quota, strict=True) for _ in range(wanted)]
        picked.append(np.array(rows, dtype=np.int64))
    return tuple(picked)
