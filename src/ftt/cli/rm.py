"""ftt rm: remove runs, and what no run needs any more."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from ftt.cli.common import CacheFlag, DataFlag, HomeFlag, JsonFlag, print_json, print_lines, print_table

if TYPE_CHECKING:
    from ftt.store.removal import Removed


def rm(
    runs: Annotated[list[str] | None, typer.Argument(help="ids of runs, or their beginnings", metavar="RUN")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="remove every run that failed")] = False,
    unused: Annotated[
        bool, typer.Option("--unused", help="remove artifacts and checkpoints that no remaining run needs")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="say what would be removed, and exit")] = False,
    json: JsonFlag = False,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Remove runs by id, all failed runs, or what no run needs any more.

    Runs in progress stay, and so does every artifact that another run needs.
    """
    from ftt import api
    from ftt.store import Home

    kept = Home.from_environment(home, cache, data)
    removed = api.rm(runs or [], failed=failed, unused=unused, dry_run=dry_run, home=kept)
    if json:
        print_json({**removed.to_json(), "dry_run": dry_run})
    else:
        _print(removed, dry_run, unused)
    if removed.busy:
        raise typer.Exit(1)


def _print(removed: Removed, dry_run: bool, unused: bool) -> None:
    from ftt.report.tables import TextTable

    files: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for stage, _, size in removed.files:
        files[stage] += 1
        sizes[stage] += size
    if files:
        rows = [[stage, str(files[stage]), f"{sizes[stage] / 1e6:.1f}"] for stage in sorted(files)]
        print_table(TextTable("", ("what", "files", "MB"), rows))
    done = "would be removed" if dry_run else "removed"
    number = len(removed.runs)
    print_lines(f"{number} run{'' if number == 1 else 's'} and {removed.bytes / 1e6:.1f} MB {done}")
    for path in removed.busy:
        print_lines(f"in use by another process, not removed: {path}")
    if removed.unsure:
        print_lines(
            f"{removed.unsure} files kept: runs of an earlier version, which did not record them, may need them"
        )
    if removed.runs and not unused:
        print_lines("ftt rm --unused removes the artifacts that no other run needs")
