"""Finished runs by id, by condition or of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ftt.checked import DamagedError
from ftt.errors import FttError, unknown
from ftt.progress import say
from ftt.result import Result
from ftt.runs.sweep_file import read
from ftt.spec import identify
from ftt.store import Home
from ftt.store.query import collect, query


@dataclass(frozen=True)
class Finished:
    """Results, and what the reader should know about those that are missing."""

    results: list[Result]
    notes: list[str] = field(default_factory=list)


def finished_runs(home: Home, wanted: Sequence[str] = (), where: str | None = None) -> Finished:
    """The finished runs that are asked for; all of them where nothing is.

    Parameters
    ----------
    wanted : sequence of str
        Ids of runs or their first digits, or one path of a sweep file.
    where : str, optional
        A condition in SQL on the table of results.
    """
    if len(wanted) == 1 and (wanted[0].endswith(".toml") or Path(wanted[0]).is_file()):
        return _of_sweep(home, Path(wanted[0]), where)
    chosen = _chosen(home, where)
    ids = [text["run_id"] for text in home.runs.results() if chosen is None or text["run_id"] in chosen]
    if wanted:
        ids = list(dict.fromkeys(run_id for name in wanted for run_id in _matching(name, ids)))
    results = []
    for run_id in ids:
        try:
            results.append(home.runs.read(run_id))
        except (DamagedError, FttError, OSError, KeyError, TypeError) as error:
            say(f"a run cannot be read and is not shown: {run_id} ({str(error).splitlines()[0]})")
    if not results:
        raise FttError(
            "there are no finished runs to show",
            given=where or home.root,
            allowed="at least one finished run",
            hint="ftt status lists all runs",
        )
    left = len(ids) - len(results)
    return Finished(results, [f"{left} runs cannot be read by this version and are not shown."] if left else [])


def _chosen(home: Home, where: str | None) -> set[str] | None:
    if where is None:
        return None
    return set(query(collect(home.runs), where=where, columns=["run_id"]).column("run_id").to_pylist())


def _matching(name: str, known: Sequence[str]) -> list[str]:
    found = [run_id for run_id in known if run_id.startswith(name.lower())] if name else []
    if not found:
        raise unknown("finished run", name, known[:20], hint="ftt status lists all runs")
    if len(found) > 1 and name.lower() not in found:
        raise FttError("several runs begin like this", given=name, allowed=", ".join(found[:20]))
    return found


def _of_sweep(home: Home, path: Path, where: str | None) -> Finished:
    sweep, chosen = read(path), _chosen(home, where)
    runs = {run.key: run for run in identify(sweep.specs, home.roots)}.values()
    wanted = [run for run in runs if chosen is None or run.id in chosen]
    results = [found for run in wanted if (found := home.runs.find(run)) is not None]
    if not results:
        raise FttError("no run of this sweep has finished", given=path, hint=f"ftt sweep {path}")
    left = len(wanted) - len(results)
    return Finished(results, [f"{left} of {len(wanted)} runs of the sweep have not finished."] if left else [])
