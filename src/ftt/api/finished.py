"""What is in the store, and what can be chosen by name: query, show, remove, report, list."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftt import registry
from ftt.api.arguments import Folder, Names, as_home, as_names, as_path
from ftt.errors import FttError, unknown
from ftt.recipe import PRESETS

if TYPE_CHECKING:
    from pandas import DataFrame

    from ftt.result import Result
    from ftt.runs.stored_run import StoredRun
    from ftt.store.removal import Removed

KINDS = ("datasets", "backbones", "freezers", "methods", "recipes", "experiments")


def results(where: str | None = None, *, group_by: Names = (), columns: Names = (), home: Folder = None) -> DataFrame:
    """Finished runs as a DataFrame: one row per run, or means over seeds by `group_by`.

    Parameters
    ----------
    where : str, optional
        A condition in SQL: ``"data.core_noise = 0.2 and recipe = 'ftt'"``.
    group_by, columns : str or sequence of str
        See `ftt results --help`; by default every column.
    """
    from ftt.store.query import collect, query

    groups, shown = as_names("group_by", group_by), as_names("columns", columns)
    runs = collect(as_home(home).runs)
    return query(runs, where=where, group_by=groups, columns=shown or (() if groups else runs.column_names)).to_pandas()


def show(run: str, *, home: Folder = None) -> StoredRun:
    """A run of the store by its id, or by the beginning of it: settings, result, artifacts, command."""
    from ftt.runs.stored_run import stored_run

    return stored_run(as_home(home), run)


def rm(
    runs: Names = (), *, failed: bool = False, unused: bool = False, dry_run: bool = False, home: Folder = None
) -> Removed:
    """Remove runs from the store, and what no run needs any more.

    Parameters
    ----------
    runs : str or sequence of str
        Ids of runs, or their beginnings.
    failed : bool
        Remove every run that failed.
    unused : bool
        Remove artifacts and checkpoints that no remaining run needs.
    dry_run : bool
        Only say what would be removed.
    """
    from ftt.store.removal import find_run, remove_runs, remove_unused

    folder, named = as_home(home), as_names("runs", runs)
    if not named and not failed and not unused:
        raise FttError("nothing to remove was named", given="no run", allowed="ids of runs, --failed or --unused")
    chosen = {find_run(folder, name) for name in named}
    if failed:
        chosen |= {folder.runs.root / row["run_id"] for row in folder.runs.states() if row["state"] == "failed"}
    removed = remove_runs(sorted(chosen), dry_run=dry_run)
    if unused:
        removed.add(remove_unused(folder, without=removed.runs, dry_run=dry_run))
    return removed


def write_report(
    runs: Names | Sequence[Result] | Result | None = None,
    *,
    where: str | None = None,
    out: Path | str = "report.html",
    title: str = "",
    command: str = "",
    notes: Sequence[str] = (),
    home: Folder = None,
) -> Path:
    """Write one page about finished runs: an HTML file that opens without a network.

    Parameters
    ----------
    runs : str, Result, or sequence of them, optional
        Ids of runs (or their first digits), the path of a sweep file, or results; by default every finished run.
    where : str, optional
        A condition in SQL, as for `results`; not together with results.
    out : path
        The page.
    title, command : str
        What the page is called, and the command that it says makes it again.
    notes : sequence of str
        Sentences below the takeaway.

    Examples
    --------
    >>> import ftt
    >>> folder = getfixture("tmp_path")
    >>> result = ftt.run("digits", recipe="init", core_noise=0.2, home=folder)
    >>> write_report(result, out=folder / "page.html", home=folder).name
    'page.html'
    """
    from ftt.report.page import write
    from ftt.result import Result
    from ftt.runs.reporting import report_page
    from ftt.runs.selection import finished_runs

    folder, target = as_home(home), as_path("out", out)
    given = [runs] if isinstance(runs, str | Result) else list(runs or ())
    results = [one for one in given if isinstance(one, Result)]
    if not results:
        found = finished_runs(folder, [str(one) for one in given], where)
        results, notes = found.results, [*notes, *found.notes]
    elif len(results) < len(given) or where is not None:
        raise FttError("results cannot be mixed with ids or conditions", given=repr(where or given)[:80])
    return write(target, report_page(results, folder, command=command, title=title, notes=notes))


def ls(kind: str | None = None) -> dict[str, dict[str, str]]:
    """What can be chosen by name, with a one-line summary each.

    Examples
    --------
    >>> sorted(ls("freezers")["freezers"])
    ['contrastive', 'offdiag', 'pca', 'random']
    """
    if kind is not None and kind not in KINDS:
        raise unknown("list", kind, KINDS)
    return {name: _summaries(name) for name in ([kind] if kind else KINDS)}


def _summaries(kind: str) -> dict[str, str]:
    if kind == "recipes":
        return {name: preset.summary for name, preset in PRESETS.items()}
    offered: registry.Registry[Any] = getattr(registry, kind.upper())
    return {name: entry.summary for name, entry in offered.entries().items()}
