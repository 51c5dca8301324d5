"""Experiments of a few seconds, registered as another package would."""

from __future__ import annotations

from dataclasses import replace

from ftt.paper.experiment import Experiment, Request
from ftt.paper.result_table import Cell
from ftt.recipe import preset
from ftt.spec import Training

NOISES = (0.0, 0.2)


def small_cells(request: Request) -> list[Cell]:
    return [
        Cell(name, f"core {noise:.0%}", request.specs(preset(name), backbone="identity", core_noise=noise))
        for name in ("init", "ftt")
        for noise in NOISES
    ]


def failing_cells(request: Request) -> list[Cell]:
    """The initial features, and a training that diverges."""
    (good,), (bad,) = (request.specs(preset(name), backbone="identity") for name in ("init", "erm"))
    return [Cell("init", "x", (good,)), Cell("ERM", "x", (replace(bad, train=Training(lr=1e9, epochs=3)),))]


SMALL = Experiment("small", "A small table", "Does it run?", small_cells, datasets=("digits",), reduced="everything")
FAILING = Experiment("failing", "A failure", "Does it stop?", failing_cells, datasets=("digits",), reduced="everything")
