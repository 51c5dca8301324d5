"""One table of every ratio: `python -m benchmarks.harness [--quick] [MODULE …]`.

A benchmark is a module in this folder with `rows(quick) -> list[dict]`. Both arms of a ratio run in this process, on
one thread, and are measured in CPU time. A full run writes `benchmarks/results.md`, one of some modules replaces their
rows in it. Floors and targets are meant for the shapes of the full run: a quick run prints them and judges nothing.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import pkgutil
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import benchmarks
from ftt.threads import limited_to

Row = dict[str, Any]

COLUMNS = ("stage", "baseline", "ratio", "floor", "target", "quality")
PACKAGES = ("freeze-then-train", "numpy", "scipy", "scikit-learn", "torch")
RESULTS = Path(__file__).with_name("results.md")


def modules() -> list[str]:
    """Names of the modules here that may define `rows`."""
    own = {"harness", "features", "stored"}
    return sorted(found.name for found in pkgutil.iter_modules(benchmarks.__path__) if found.name not in own)


def collect(names: Sequence[str], quick: bool, console: Console) -> Iterator[Row]:
    """The rows of each module; a module that fails becomes a row that says so."""
    for name in names:
        started = time.perf_counter()
        module = importlib.import_module(f"benchmarks.{name}")
        if not hasattr(module, "rows"):
            continue
        console.print(f"[dim]{name} …[/dim]")
        try:
            with limited_to(1):
                yield from module.rows(quick)
        except Exception as failure:
            # The other stages are worth having; the exit code tells that this one is missing.
            yield {"stage": name, "baseline": "failed", "quality": f"{type(failure).__name__}: {failure}"}
        console.print(f"[dim]{name}: {time.perf_counter() - started:.0f} s[/dim]")


MISSED = ("not measured", "below the floor")


def reaches(ratio: float, bound: float | str) -> bool:
    """Whether a ratio is as large as a bound, or as small as one written "<= 6x"."""
    if isinstance(bound, str):
        return ratio <= float(bound.strip("<=≤ x×"))
    return ratio >= bound


def verdict(row: Row, quick: bool) -> str:
    """Whether a ratio reaches its target, its floor, or neither."""
    ratio, floor, target = (row.get(key) for key in ("ratio", "floor", "target"))
    if ratio is None:
        return MISSED[0]
    if quick:
        return ""
    if floor is not None and not reaches(ratio, floor):
        return MISSED[1]
    if target is not None and reaches(ratio, target):
        return "target"
    return "floor" if floor is not None else ""


def cells(row: Row, quick: bool) -> list[str]:
    """One line of the table as text."""
    words = []
    for column in COLUMNS:
        value = row.get(column)
        words.append("" if value is None else f"{value:.3g}×" if isinstance(value, int | float) else str(value))
    return [*words[:5], verdict(row, quick), words[5]]


HEADINGS = ("stage", "baseline", "ratio", "floor", "target", "reached", "quality")
WRITTEN = (*HEADINGS, "measured")


def as_table(found: Sequence[Row], quick: bool) -> Table:
    """The table for a terminal."""
    table = Table(*HEADINGS, title="CPU time at one thread, ours against the baseline", show_lines=True)
    for row in found:
        table.add_row(*cells(row, quick), style="red" if verdict(row, quick) in MISSED else None)
    return table


def as_markdown(found: Sequence[Row]) -> str:
    """The table for the repository. Rows are measured again one by one, so each says when and on what."""
    versions = [f"{package} {version(package)}" for package in PACKAGES]
    measured = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {machine()}"
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Ratios of CPU time at one thread, both arms in one process, medians.",
        "",
        f"Versions of the last run: Python {platform.python_version()}, {', '.join(versions)}",
        "",
        "| " + " | ".join(WRITTEN) + " |",
        "|" + "---|" * len(WRITTEN),
    ]
    rows = ([*cells(row, quick=False), measured] for row in found)
    lines += ["| " + " | ".join(word.replace("|", "\\|") for word in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def with_rows(page: str, found: Sequence[Row]) -> str:
    """The written table with these rows in place of those of the same stages: some benchmarks were run again."""
    again = {row["stage"] for row in found}
    fresh = as_markdown(found).splitlines()
    head, rows = fresh[: len(fresh) - len(found)], fresh[len(fresh) - len(found) :]
    old = page.splitlines()[len(head) :]
    kept = [(line.split(" | ")[0].removeprefix("| "), line) for line in old]
    first = next((i for i, (stage, _) in enumerate(kept) if stage in again), len(kept))
    before = [line for stage, line in kept[:first] if stage not in again]
    after = [line for stage, line in kept[first:] if stage not in again]
    return "\n".join([*head, *before, *rows, *after]) + "\n"


def machine() -> str:
    """Processor and system, without the host's name."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = f"{len(names)} × {names[0]}" if names else model
    return f"{model}, {platform.system()}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks; 1 if a stage failed or stays below its floor."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.harness", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="scaled-down shapes, under two minutes, nothing written")
    parser.add_argument("module", nargs="*", help=f"some of {', '.join(modules())}; all by default")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.module) - set(modules())):
        parser.error(f"no benchmark called {', '.join(unknown)}; there are {', '.join(modules())}")
    screen, notes = Console(width=None if sys.stdout.isatty() else 200), Console(stderr=True)
    found = list(collect(options.module or modules(), options.quick, notes))
    screen.print(as_table(found, options.quick))
    if not options.quick:
        text = with_rows(RESULTS.read_text(), found) if options.module else as_markdown(found)
        RESULTS.write_text(text, encoding="utf-8")
        notes.print(f"written to {RESULTS.name}")
    # A ratio below its floor is a result, told in the table; a stage without a ratio is a failure.
    return int(any(verdict(row, options.quick) == MISSED[0] for row in found))


if __name__ == "__main__":
    sys.exit(main())
