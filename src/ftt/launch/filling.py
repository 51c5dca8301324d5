"""The table of an experiment: its cells, filled from the store, from published runs, and by running what is left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ftt.launch.launcher import ALL, Resources, check_place, launch
from ftt.paper.probing_again import without_training
from ftt.paper.published_runs import published_results
from ftt.paper.result_table import Cell, Measured, ResultTable
from ftt.progress import say
from ftt.result import Result
from ftt.runs.time_estimate import estimate, in_words
from ftt.spec import Run, Spec, identify
from ftt.store import Home


def fill(
    name: str,
    cells: Sequence[Cell],
    home: Home,
    *,
    published: Path | None = None,
    on: str = "local",
    resources: Resources = ALL,
) -> tuple[ResultTable, dict[str, str]]:
    """The table of all cells, and failures by run.

    Parameters
    ----------
    name : str
        Of the experiment, for messages.
    cells : sequence of Cell
    home : Home
    published : path, optional
        Folder with pages made earlier; what the store lacks is looked for there before it is run.
    on, resources
        Where the rest is run, and with how much of it.
    """
    # Before anything is timed or looked for.
    check_place(on)
    specs = _specs(cells)
    runs = identify(specs, home.roots)
    left = [run for run in runs if home.runs.find(run) is None]
    if specs:
        say(f"{name}: {len(specs)} runs, {len(specs) - len(left)} of them already in the store")
    results: dict[Spec, Result | None] = {}
    if published is not None:
        results |= _found_in(published, left)
        left = [run for run in left if run.spec not in results]
    if on == "local" and specs:
        # The threads of a run do not depend on how many runs are left.
        resources = Resources(*resources.divide(len(specs)))
    if left and on != "store":
        workers = resources.divide(len(specs))[0]
        seconds = estimate([run.spec for run in left], home.roots, at_once=workers)
        say(f"at most about {in_words(seconds)} for {len(left)} runs, {workers} at a time")
    if on == "store" and (probed := without_training(cells, home)):
        say(f"{len(probed)} runs only probe stored features in another way and are made")
        launch(probed, home, resources=resources)
    outcomes = launch([spec for spec in specs if spec not in results], home, on=on, resources=resources)
    results |= {outcome.run.spec: outcome.result for outcome in outcomes}
    measured = [Measured(cell, tuple(r for spec in cell.specs if (r := results[spec]) is not None)) for cell in cells]
    return ResultTable(measured), {one.run.id: one.error for one in outcomes if one.error is not None}


def unpublished(cells: Sequence[Cell], home: Home, published: Path | None) -> list[Spec]:
    """What `fill` takes from the store or runs: every run of the cells that a folder of pages does not hold."""
    specs = _specs(cells)
    if published is None:
        return specs
    runs = identify(specs, home.roots)
    found = published_results(published, runs)
    return [run.spec for run in runs if run.key not in found]


def _specs(cells: Sequence[Cell]) -> list[Spec]:
    """The runs of all cells; those that several cells share, once."""
    return list(dict.fromkeys(spec for cell in cells for spec in cell.specs))


def _found_in(folder: Path, runs: Sequence[Run]) -> dict[Spec, Result]:
    """The results of these runs that are published in a folder."""
    found = published_results(folder, runs)
    say(f"{len(found)} more are published in {folder}")
    return {run.spec: found[run.key] for run in runs if run.key in found}
