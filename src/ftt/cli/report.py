"""ftt report: any finished runs as one page that opens without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ftt.cli.common import CacheFlag, DataFlag, HomeFlag, JsonFlag, command_line, print_json, print_lines


def report(
    runs: Annotated[list[str] | None, typer.Argument(help="ids of runs or their first digits, or a sweep file")] = None,
    where: Annotated[str | None, typer.Option(help="condition: \"data.core_noise = 0.2 and recipe = 'ftt'\"")] = None,
    out: Annotated[Path, typer.Option(help="the page")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="title of the page")] = "",
    open: Annotated[bool, typer.Option("--open", help="open the page in the browser")] = False,
    json: JsonFlag = False,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Write one page about finished runs: takeaway, data, groups, comparison, curves, mistakes, settings."""
    from ftt import api
    from ftt.cli.screen import watched
    from ftt.store import Home

    kept = Home.from_environment(home, cache, data)
    with watched():
        path = api.write_report(runs or (), where=where, out=out, title=title, command=command_line(), home=kept)
    if json:
        print_json({"page": str(path), "bytes": path.stat().st_size})
    else:
        print_lines(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    if open:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
