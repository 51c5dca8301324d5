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
    from ftt.spec import Spec
    from ftt.store import Home


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
    from ftt import threads as pools
    from ftt.cli.screen import watched
    from ftt.errors import unknown
    from ftt.launch import Resources
    from ftt.paper.demo_claims import DATASETS, plan
    from ftt.store import Home

    if dataset not in (None, *DATASETS):
        raise unknown("demo data set", dataset, DATASETS)
    kept = Home.from_environment(home, cache, data)
    with watched():
        chosen = dataset or _available(kept.roots)
        planned = plan(chosen, full=full)
        show = Show(chosen, planned, kept, report)
        # One line of the table each at most: a process for every seed would cost more memory than it saves time.
        show.run(Resources(workers or max(1, min(len(planned), pools.available() // threads)), threads))
    if json:
        print_json(show.to_json())
    else:
        show.print()


class Show:
    """The demo while it runs: every row is reported as it lands, and the page is rewritten with it."""

    def __init__(self, dataset: str, planned: Sequence[Planned], home: Home, report: Path | None = None) -> None:
        from ftt.paper.demo_claims import Rows

        self.dataset, self.home, self.report = dataset, home, report
        self.folder = home.root / "demo" / dataset
        self.rows = Rows(planned)
        self.seconds: dict[str, float] = {}
        self.files: list[Path] = []
        self.start = time.monotonic()

    @property
    def specs(self) -> list[Spec]:
        return [spec for line in self.rows.planned for spec in line.specs]

    def run(self, resources: Resources) -> None:
        """Run what is missing."""
        from ftt.errors import FttError
        from ftt.launch import launch
        from ftt.launch.local import started_ahead
        from ftt.spec import identify
        from ftt.store.checked_json import write_json

        pending = [run.spec for run in identify(self.specs, self.home.roots) if self.home.runs.find(run) is None]
        workers, threads = resources.divide(len(self.specs))
        at_once = min(workers, len(pending))
        with started_ahead(at_once if workers > 1 else 0, threads):
            if pending:
                self.announce(pending, at_once, threads)
            outcomes = launch(self.specs, self.home, resources=resources, on_end=self.note)
        for outcome in outcomes:
            if outcome.error is not None:
                trace = self.home.runs.folder(outcome.run) / "failed.json"
                raise FttError(f"run {outcome.run.id} failed: {outcome.error}", hint=f"the traceback is in {trace}")
        self.draw()
        self.seconds["all"] = self.elapsed
        write_json(self.folder / "results.json", [o.result.to_json() for o in outcomes if o.result])

    @property
    def elapsed(self) -> float:
        return round(time.monotonic() - self.start, 1)

    def announce(self, pending: Sequence[Spec], at_once: int, threads: int) -> None:
        """Say how long it will take, by timing a few steps of the trainings that are missing."""
        from ftt import threads as pools
        from ftt.progress import say

        say(f"{len(self.specs)} runs on {self.dataset}, {at_once} at a time; timing a few steps")
        from ftt.runs.time_estimate import estimate

        with pools.limited_to(threads):
            seconds = estimate(pending, self.home.roots, at_once=at_once)
        # Starting the workers, probing and drawing are not in it.
        say(f"about {_minutes(seconds + 20)} on this machine; the first row comes in seconds")

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
