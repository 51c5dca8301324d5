"""Cells that need no training: features whose trainings are in the store, under another probe."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ftt.paper.result_table import Cell
from ftt.runs.time_estimate import all_trained
from ftt.spec import Spec, identify
from ftt.store import Home


def probing_again(cell: Cell, row: str, **probing: str) -> Cell:
    """The same cell with these parameters of the probe changed."""
    specs = tuple(replace(spec, probe=spec.probe.replace(**probing)) for spec in cell.specs)
    return Cell(row, cell.column, specs, probes_again=True)


def without_training(cells: Iterable[Cell], home: Home) -> list[Spec]:
    """The Specs of such cells that have no result yet, and for which everything that is trained is in the store."""
    specs = [spec for cell in cells if cell.probes_again for spec in cell.specs]
    pending = [run.spec for run in identify(specs, home.roots) if home.runs.find(run) is None]
    return [spec for spec in pending if all_trained(spec, home)]
