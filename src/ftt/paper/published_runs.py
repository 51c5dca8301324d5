"""Published runs read back: the accuracies of a ``.jsonl`` file by row and column of its table."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ftt.arrays import unpack
from ftt.paired import Judgement
from ftt.paper.result_table import WORST

Record = dict[str, Any]


@dataclass(frozen=True)
class PublishedTable:
    """The records of one file; what a `ResultTable` says about accuracies, this says too."""

    records: list[Record] = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> PublishedTable:
        with path.open(encoding="utf-8") as lines:
            return cls([json.loads(line) for line in lines])

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(record["row"] for record in self.records))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(record["column"] for record in self.records))

    def at(self, row: str, column: str) -> list[Record]:
        """The runs of a cell."""
        return [record for record in self.records if (record["row"], record["column"]) == (row, column)]

    def values(self, row: str, column: str, metric: str = WORST) -> dict[int, float]:
        """Accuracies of a cell by training seed."""
        return {record["seed"]: float(record[metric]) for record in self.at(row, column)}

    def mean(self, row: str, column: str, metric: str = WORST) -> float | None:
        """Mean of a cell over its training seeds."""
        values = self.values(row, column, metric).values()
        return statistics.fmean(values) if values else None

    def gain(self, row: str, over: str, column: str, metric: str = WORST) -> float | None:
        """Mean of one row minus that of another, in the same column."""
        value, base = self.mean(row, column, metric), self.mean(over, column, metric)
        return None if value is None or base is None else value - base

    def judgements(self, row: str, column: str) -> list[Judgement]:
        """What the runs of a cell did on the test rows; none where older files did not keep it."""
        found = self.at(row, column)
        return [_judgement(record) for record in found] if all("judged" in record for record in found) else []


def _judgement(record: Record) -> Judgement:
    label = unpack(record["judged"]["label"])
    right = np.mean([unpack(seed["predicted"]) == label for seed in record["probe"]["seeds"]], axis=0)
    group = unpack(record["judged"]["attribute"])
    return Judgement(record["run_id"], record["seed"], record[WORST], label, group, right)
