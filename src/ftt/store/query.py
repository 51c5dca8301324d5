"""Results as one table: one row per run, one column per field of its Spec or figure, queried with DuckDB.

Columns are dotted like the fields of a sweep: ``data.core_noise``, ``train.epochs``, ``seconds.fit``. The database is
in memory and reads nothing else.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ftt.errors import FttError, unknown
from ftt.params import Json
from ftt.result import ONE_CLASS
from ftt.store.columns import column
from ftt.store.index import without_collection
from ftt.store.runs import RunStore

if TYPE_CHECKING:
    import duckdb

FIGURES = ("worst_group_accuracy", "average_accuracy")
NAMES = ("run_id", "dataset", "backbone", "recipe", "p", "seed")
"""Columns that name a run, shown where none are asked for."""
ROLES = ("data", "freeze", "method", "train", "probe")

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "lock_configuration": True,
    "memory_limit": "2GB",
    "temp_directory": "",
}
PATIENCE = 8.0
"""Seconds that a condition may take."""
LONGEST, DEEPEST = 10_000, 200
"""Characters and brackets of a condition; the parser takes half a minute for five thousand brackets."""
_WORDS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|[A-Za-z_]\w*(?:\.\w+)+""")


def collect(store: RunStore) -> pa.Table:
    """Every finished run of a store."""
    with without_collection():
        rows = [row_of(text) for text in store.results()]
    if not rows:
        raise FttError("there are no results yet", given=store.root, hint="ftt run DATASET, or ftt sweep FILE")
    names = dict.fromkeys(name for row in rows for name in row)
    with without_collection():
        return pa.table({name: column([row.get(name) for row in rows]) for name in names})


def row_of(result: Mapping[str, Any]) -> dict[str, Json]:
    """One written result as a flat row."""
    spec, probe, recipe = result["spec"], result["probe"], result["spec"]["recipe"]
    freeze, method = recipe["freeze"], recipe["method"]
    parts = {**spec, "freeze": freeze, "method": method}
    return {
        "run_id": result["run_id"],
        "dataset": spec["data"]["name"],
        "backbone": spec["backbone"],
        "recipe": result["recipe"],
        "freeze": freeze["name"] if freeze else None,
        "p": freeze["p"] if freeze else 0.0 if method else None,
        "method": method["name"] if method else None,
        "join": recipe["join"],
        "seed": spec["seed"],
        **{
            f"{role}.{name}": value
            for role in ROLES
            for name, value in (parts[role] or {}).items()
            if name != "name" and (role, name) != ("freeze", "p")
        },
        **{name: result[name] for name in FIGURES},
        "worst_group": result["worst_group"],
        # Results written before headlines existed have none.
        "headline_accuracy": result.get("headline_accuracy"),
        "headline_group": result.get("headline_group"),
        "explained_variance": result["explained_variance"],
        "C": probe["C"],
        "converged": probe["converged"],
        "one_class": any(warning.startswith(ONE_CLASS) for warning in probe["warnings"]),
        **{f"seconds.{stage}": value for stage, value in result["seconds"].items()},
        "seconds": round(sum(result["seconds"].values()), 3),
        "version": result["version"],
    }


def query(
    runs: pa.Table, *, where: str | None = None, group_by: Sequence[str] = (), columns: Sequence[str] = ()
) -> pa.Table:
    """Rows of a table of runs.

    Parameters
    ----------
    runs : Table
        The table that `collect` returns.
    where : str, optional
        A condition in SQL, with dotted names as they are: ``data.core_noise = 0.2 and method = 'erm'``.
    group_by : sequence of str
        One row for every combination of these: n, and the mean of every figure with its standard error (ddof 1; empty
        for a single run). Runs are pooled over seeds only: any other field in which they differ has to be named.
    columns : sequence of str
        Columns to show; with `group_by` the figures to average. By default the fields in which runs differ, and both
        accuracies.
    """
    for name in (*group_by, *columns):
        if name not in runs.column_names:
            raise unknown("column of the results", name, runs.column_names)
    _check_condition(where)
    if not where and not group_by:
        return _shown(runs, columns)
    import duckdb

    connection = duckdb.connect(config=SETTINGS)
    timer = threading.Timer(PATIENCE, connection.interrupt)
    connection.register("runs", runs)
    condition = f" where ({_quoted_names(where, runs.column_names)})" if where else ""
    try:
        timer.start()
        found = connection.sql(f"select * from runs{condition}").to_arrow_table()
        if not group_by:
            return _shown(found, columns)
        connection.register("found", found)
        _refuse_pooling(connection, found, group_by)
        keys = ", ".join(map(quoted, group_by))
        figures = ", ".join(_mean(name) for name in columns or FIGURES)
        return connection.sql(
            f"select {keys}, count(*) as n, {figures} from found group by all order by all"
        ).to_arrow_table()
    except duckdb.InterruptException:
        raise FttError(
            f"the query took longer than {PATIENCE:g} s and was stopped",
            given=(where or "")[:200],
            allowed="a condition on the columns of one run",
        ) from None
    except (duckdb.Error, pa.ArrowException, RuntimeError) as error:
        raise FttError(
            "invalid query",
            given=(where or ", ".join((*group_by, *columns)))[:200],
            allowed=", ".join(runs.column_names),
            hint=(str(error) or type(error).__name__).splitlines()[0][:200],
        ) from None
    finally:
        timer.cancel()
        connection.close()


def _shown(found: pa.Table, columns: Sequence[str]) -> pa.Table:
    flagged = ["one_class"] if True in found.column("one_class").to_pylist() else []
    return found.select(list(columns) or [*NAMES, *differing(found), *FIGURES, *flagged])


def _check_condition(where: str | None) -> None:
    if where is not None and not isinstance(where, str):
        raise FttError("where must be a condition in SQL", given=repr(where)[:80], allowed='"p = 0.25"')
    if where and (len(where) > LONGEST or where.count("(") > DEEPEST):
        raise FttError(
            "invalid query: the condition is too long",
            given=f"{len(where)} characters, {where.count('(')} brackets",
            allowed=f"at most {LONGEST} characters and {DEEPEST} brackets",
        )


def differing(runs: pa.Table) -> list[str]:
    """The parameters in which runs that have them differ, besides their names and seeds."""
    return [name for name in _parameters(runs) if len(runs.column(name).drop_null().unique()) > 1]


def _parameters(runs: pa.Table) -> list[str]:
    dotted = (name for name in runs.column_names if name.partition(".")[0] in ROLES and "." in name)
    # Data carry the seed of the run unless another was given.
    same = "data.seed" in runs.column_names and runs.column("data.seed").equals(runs.column("seed"))
    return [name for name in dotted if not (same and name == "data.seed")]


def _refuse_pooling(connection: duckdb.DuckDBPyConnection, found: pa.Table, group_by: Sequence[str]) -> None:
    """Means over runs that differ in more than their seeds mean nothing."""
    seeds = {"data.seed", "freeze.seed", "probe.seed"}
    fields = [n for n in ("dataset", "backbone", "recipe", "p", "join", *_parameters(found)) if n not in seeds]
    left = [name for name in fields if name not in group_by and len(found.column(name).unique()) > 1]
    if not left:
        return
    keys = ", ".join(map(quoted, group_by))
    # `count(distinct …)` does not count nulls; a row without the field differs from one with it.
    spread = ", ".join(
        f"count(distinct {quoted(n)}) + (count(*) > count({quoted(n)}) and count({quoted(n)}) > 0)::int as {quoted(n)}"
        for n in left
    )
    counted = connection.sql(f"select {spread} from found group by {keys}").to_arrow_table()
    mixed = [name for name in left if max(counted.column(name).to_pylist()) > 1]
    if mixed:
        raise FttError(
            "these groups would average over runs that differ in more than their seed",
            given=f"grouped by {', '.join(group_by)}; also differing: {', '.join(mixed)}",
            allowed="means over seeds only",
            hint=f"add to --group-by: {','.join(mixed)}; or choose runs with --where",
        )


def quoted(name: str) -> str:
    """A name quoted for SQL, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def _mean(name: str) -> str:
    column = quoted(name)
    return f"avg({column}) as {column}, stddev_samp({column}) / sqrt(count({column})) as {quoted(name + '_se')}"


def _quoted_names(condition: str, names: Sequence[str]) -> str:
    """Dotted names of columns in quotes, which SQL would take for fields of tables; texts stay as they are."""
    return _WORDS.sub(lambda word: quoted(word[0]) if word[0] in names else word[0], condition)
