"""Results as one table that can be asked: a row a run, a column a field of its Spec or a figure, DuckDB underneath.

Columns are dotted as fields of a sweep are: ``data.core_noise``, ``train.epochs``, ``seconds.fit``. The database lives
in memory and reads nothing but what it is handed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ftt.errors import FttError, unknown
from ftt.params import Json
from ftt.progress import say

FIGURES = ("worst_group_accuracy", "average_accuracy")
NAMES = ("run_id", "dataset", "backbone", "recipe", "p", "seed")
"""What a run is called by, where no columns are asked for."""

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "lock_configuration": True,
}
_WORDS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|[A-Za-z_]\w*(?:\.\w+)+""")


def collect(root: Path) -> pa.Table:
    """Every finished run below a folder of runs."""
    rows = []
    for path in sorted(root.glob("*/result.json")):
        try:
            rows.append(row_of(json.loads(path.read_text())))
        except (ValueError, KeyError, TypeError) as error:
            say(f"a stored result is damaged and is left out: {path} ({error!r})")
    if not rows:
        raise FttError("there are no results yet", given=root, hint="ftt run DATASET, or ftt sweep FILE")
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def row_of(result: Mapping[str, Json]) -> dict[str, Json]:
    """One result as a flat row."""
    spec, probe = result["spec"], result.get("probe") or {}
    freeze, method = spec["freeze"], spec["method"]
    seconds = {f"seconds.{stage}": value for stage, value in (result.get("seconds") or {}).items()}
    return {
        "run_id": result["run_id"],
        "dataset": spec["data"]["name"],
        "backbone": spec["backbone"],
        "recipe": " + ".join(part["name"] for part in (freeze, method) if part) or "init",
        "freeze": freeze["name"] if freeze else None,
        "p": freeze["p"] if freeze else 0.0 if method else None,
        "method": method["name"] if method else None,
        "join": spec["join"],
        "seed": spec["seed"],
        **{
            f"{role}.{name}": value
            for role in ("data", "freeze", "method", "train", "probe")
            for name, value in (spec[role] or {}).items()
            if name != "name" and (role, name) != ("freeze", "p")
        },
        **{name: result[name] for name in FIGURES},
        "worst_group": result.get("worst_group"),
        "explained_variance": result.get("explained_variance"),
        "C": probe.get("C"),
        "converged": probe.get("converged"),
        **seconds,
        "seconds": round(sum(seconds.values()), 3),
        "version": result.get("version"),
    }


def ask(
    runs: pa.Table, *, where: str | None = None, group_by: Sequence[str] = (), columns: Sequence[str] = ()
) -> pa.Table:
    """Rows of a table of runs.

    Parameters
    ----------
    runs : Table
        What `collect` gave.
    where : str, optional
        A condition in SQL, with dotted names as they are: ``data.core_noise = 0.2 and method = 'erm'``.
    group_by : sequence of str
        One row for every combination of these: n, and of every figure the mean and its standard error (ddof 1; empty
        for a single run).
    columns : sequence of str
        Columns to show; with `group_by` the figures to take means of. By default what tells runs apart and both
        accuracies.
    """
    for name in (*group_by, *columns):
        if name not in runs.column_names:
            raise unknown("column of the results", name, runs.column_names)
    connection = duckdb.connect(config=SETTINGS)
    connection.register("runs", runs)
    condition = f" where ({_quoted_names(where, runs.column_names)})" if where else ""
    try:
        found = connection.sql(f"select * from runs{condition}").to_arrow_table()
        if not group_by:
            return found.select(list(columns) or telling(found))
        connection.register("found", found)
        keys = ", ".join(map(quoted, group_by))
        figures = ", ".join(_mean(name) for name in columns or FIGURES)
        return connection.sql(
            f"select {keys}, count(*) as n, {figures} from found group by all order by all"
        ).to_arrow_table()
    except duckdb.Error as error:
        raise FttError(
            "the results cannot be asked that",
            given=where or ", ".join((*group_by, *columns)),
            allowed=", ".join(runs.column_names),
            hint=str(error).splitlines()[0],
        ) from None
    finally:
        connection.close()


def telling(runs: pa.Table) -> list[str]:
    """Names of the runs, the fields in which they differ, and both accuracies."""
    differ = [
        name
        for name in runs.column_names
        if name.partition(".")[0] in ("data", "freeze", "method", "train", "probe")
        and "." in name
        and len(runs.column(name).drop_null().unique()) > 1
    ]
    # Data carry the seed of the run unless another was given.
    same = "data.seed" in differ and runs.column("data.seed").equals(runs.column("seed"))
    return [*NAMES, *(name for name in differ if not (same and name == "data.seed")), *FIGURES]


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def _mean(name: str) -> str:
    column = quoted(name)
    return f"avg({column}) as {column}, stddev_samp({column}) / sqrt(count({column})) as {quoted(name + '_se')}"


def _quoted_names(condition: str, names: Sequence[str]) -> str:
    """Dotted names of columns in quotes, which SQL would take for fields of tables; texts stay as they are."""
    return _WORDS.sub(lambda word: quoted(word[0]) if word[0] in names else word[0], condition)


def _column(values: list[Any]) -> pa.Array:
    """Values of one kind as they are, lists and mixtures as text."""
    plain = [json.dumps(value) if isinstance(value, list | dict) else value for value in values]
    try:
        return pa.array(plain)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in plain])
