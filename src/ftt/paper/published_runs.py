"""Published runs read back: by row and column of their table, or as the results of runs that are asked for."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ftt.arrays import unpack
from ftt.errors import FttError, described
from ftt.paired import Judgement
from ftt.paper.result_table import WORST
from ftt.result import Judged, ProbeResult, Result
from ftt.spec import Run

Record = dict[str, Any]


@dataclass(frozen=True)
class PublishedTable:
    """The records of one file; what a `ResultTable` says about accuracies, this says too."""

    records: list[Record] = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> PublishedTable:
        return cls(list(read_records(path)))

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


def read_records(path: Path) -> Iterator[Record]:
    """The runs of a ``.jsonl`` file, one per line."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield json.loads(line)
            except ValueError as error:
                raise FttError(
                    "a line of published runs cannot be read", given=f"{path}, line {number}: {error}", allowed="JSON"
                ) from None


def published_results(folder: Path, runs: Iterable[Run]) -> dict[str, Result]:
    """The results of those runs that the ``.jsonl`` files of a folder hold, by key.

    An id is a hash over the Spec and the content of the files that a run reads, so what is found is the run that is
    asked for, whoever made it. Training logs are not published; these results have none.
    """
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise FttError(
            "there are no published runs",
            given=str(folder),
            allowed="a folder with .jsonl files of ftt reproduce",
            hint="ftt reproduce NAME --out FOLDER writes one",
        )
    wanted = {run.id: run for run in runs}
    found: dict[str, Result] = {}
    for path in files:
        with described("a published run", f"a line of {path.name} as ftt reproduce --out writes it"):
            for record in read_records(path):
                run = wanted.get(record["run_id"])
                if run is not None and run.key not in found:
                    found[run.key] = _result(record, run)
    return found


def _result(record: Record, run: Run) -> Result:
    probe = record["probe"]
    return Result(
        run=run,
        probes=tuple(ProbeResult.from_json(seed) for seed in probe["seeds"]),
        judged=Judged(**record["judged"]),
        dims=probe["dims"],
        warnings=tuple(probe["warnings"]),
        explained_variance=None,
        noise={},
        train_log=[],
        seconds=record["seconds"],
        environment=record["environment"],
        version=record["version"],
        from_store=True,
    )
