"""ftt demo: the paper's claim on real data, in a table, a chart and a page that grow while the runs end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from ftt.cli.common import (
    CacheFlag,
    DataFlag,
    HomeFlag,
    JsonFlag,
    ReportFlag,
    print_json,
    print_lines,
    print_table,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ftt.data import Roots
    from ftt.launch import Outcome, Resources
    from ftt.paper.demo_claims import Planned
    from ftt.store import Home

RESULTS = "results.json"
"""Written when every row is there."""


def demo(
    dataset: Annotated[str | None, typer.Option(help="dominoes or digits; default: dominoes if available")] = None,
    full: Annotated[bool, typer.Option("--full", help="every training at full size")] = False,
    workers: Annotated[int | None, typer.Option(min=1, max=10_000, help="runs at a time; default: cores")] = None,
    threads: Annotated[int, typer.Option(min=1, max=1024, help="threads per run")] = 1,
    report: ReportFlag = None,
    json: JsonFlag = False,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Show the paper's claim on real data: initial features, ERM and FTT under two noises."""
    start = time.monotonic()
    from ftt import threads as pools
    from ftt.cli.screen import watched
    from ftt.errors import unknown
    from ftt.launch import Resources
    from ftt.launch.local import started_ahead
    from ftt.paper.demo_claims import DATASETS, LINES, SEEDS, plan
    from ftt.store import Home

    if dataset not in (None, *DATASETS):
        raise unknown("demo data set", dataset, DATASETS)
    kept = Home.from_environment(home, cache, data)
    # One line of the table each at most: a process for every seed would cost more memory than it saves time.
    at_once = workers or max(1, min(LINES, pools.available() // threads))
    with watched():
        chosen = dataset or _available(kept.roots)
        finished = (kept.root / "demo" / chosen / RESULTS).exists()
        # Workers import torch while this process does, unless nothing is left for them to do.
        ahead = 0 if finished or at_once == 1 else min(at_once, LINES * SEEDS[chosen])
        with started_ahead(ahead, threads):
            show = Show(chosen, plan(chosen, full=full), kept, report, start)
            show.run(Resources(at_once, threads))
    if json:
        print_json(show.to_json())
    else:
        show.print()


class Show:
    """The demo while it runs: every row is reported as it lands, and the page is rewritten with it."""

    def __init__(
        self,
        dataset: str,
        planned: Sequence[Planned],
        home: Home,
        report: Path | None = None,
        start: float | None = None,
    ) -> None:
        from ftt.paper.demo_claims import Rows

        self.dataset, self.home, self.report = dataset, home, report
        self.folder = home.root / "demo" / dataset
        self.rows = Rows(planned)
        self.seconds: dict[str, float] = {}
        self.files: list[Path] = []
        self.start = time.monotonic() if start is None else start

    def run(self, resources: Resources) -> None:
        """Run what is missing."""
        from ftt.errors import FttError
        from ftt.launch import launch
        from ftt.launch.forecast import Forecast
        from ftt.paper.demo_claims import images_seen, running_order
        from ftt.progress import current, say, shown_on
        from ftt.spec import identify
        from ftt.store.checked_json import write_json

        specs = running_order(self.rows.planned)
        pending = [run for run in identify(specs, self.home.roots) if self.home.runs.find(run) is None]
        at_once = min(resources.divide(len(specs))[0], len(pending))
        if pending:
            say(f"{len(specs)} runs on {self.dataset}, {at_once} at a time; the first row comes in seconds")
        sizes = {f"run {run.id}": size for run in pending if (size := images_seen(run.spec))}
        with shown_on(Forecast(current(), sizes, at_once, self.foretell)):
            outcomes = launch(specs, self.home, resources=resources, on_end=self.note)
        for outcome in outcomes:
            if outcome.error is not None:
                trace = self.home.runs.folder(outcome.run) / "failed.json"
                raise FttError(f"run {outcome.run.id} failed: {outcome.error}", hint=f"the traceback is in {trace}")
        if not self.files:
            self.draw()  # Every row was in the store.
        self.seconds["all"] = self.elapsed
        write_json(self.folder / RESULTS, [result.to_json() for row in self.rows.complete() for result in row.results])

    def foretell(self, seconds: float) -> None:
        from ftt.progress import say

        say(f"the trainings take about {_minutes(seconds)} on this machine")

    @property
    def elapsed(self) -> float:
        return round(time.monotonic() - self.start, 1)

    def note(self, outcome: Outcome) -> None:
        """A run has ended: report the row that it completes, and the first verdict."""
        from ftt.paper.demo_claims import RECIPES, SETTINGS, judged, verdict
        from ftt.paper.demo_page import in_words
        from ftt.progress import say
        from ftt.report.tables import percent, signed

        row = self.rows.add(outcome.run, outcome.result) if outcome.result is not None else None
        if row is None:
            return
        self.seconds.setdefault("first row", self.elapsed)
        gain = "" if row.gain is None else f" ({signed(row.gain)})"
        say(f"{self.elapsed:4.0f} s  {in_words(row.noises):>9}  {RECIPES[row.recipe]:<16} {percent(row.worst)}{gain}")
        done = self.rows.complete()
        if any(judged(done, noises) for noises in SETTINGS) and "first verdict" not in self.seconds:
            self.seconds["first verdict"] = self.elapsed
            say(f"first verdict: {verdict(done)}")
        if outcome.result is not None and not outcome.result.from_store:
            self.draw()

    def draw(self) -> None:
        """Chart and page of the rows that there are."""
        from ftt.paper import demo_page
        from ftt.progress import say
        from ftt.report.page import write as write_page

        first, rows = not self.files, self.rows.complete()
        self.files = demo_page.write(rows, self.dataset, self.folder)
        if first:
            say(f"the page grows with every row: {self.files[-1].resolve()}")
        if self.report is not None:
            self.files.append(write_page(self.report, demo_page.page_of(rows, self.dataset)))

    def to_json(self) -> dict[str, object]:
        from ftt.paper.demo_claims import verdict

        rows = self.rows.complete()
        runs = [result.to_json() for row in rows for result in row.results]
        return {"dataset": self.dataset, "verdict": verdict(rows), "seconds": self.seconds, "runs": runs}

    def print(self) -> None:
        from ftt.paper import demo_page
        from ftt.paper.demo_claims import verdict

        rows = self.rows.complete()
        print_table(demo_page.table(rows, self.dataset))
        print_lines(verdict(rows), ", ".join(f"{what} after {s:.0f} s" for what, s in self.seconds.items()))
        print_lines(f"Table, charts and page are in {self.folder.resolve()}:", *(f"  {p.name}" for p in self.files))


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.1f} minutes"


def _available(roots: Roots) -> str:
    """Dominoes if its files are here or can be fetched, otherwise the embedded digits, with a message."""
    from ftt.data.dominoes import Dominoes
    from ftt.data.fetch import UnreachableError
    from ftt.progress import say

    try:
        for collection in Dominoes.collections():
            collection.obtain(roots)
    except UnreachableError as error:
        say(str(error))
        say("the demo uses the embedded digits instead: a small stand-in without pictures of cars")
        return "digits"
    return "dominoes"
