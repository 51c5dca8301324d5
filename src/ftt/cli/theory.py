"""`ftt theory`: the paper's Section 3 in numbers and pictures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ftt.cli.common import JsonFlag, ReportFlag, print_json, print_lines, print_table
from ftt.cli.loudness import App

if TYPE_CHECKING:
    from ftt.report.theory_pages import TheoryPage

app = App(
    help="The paper's linear model in numbers and pictures: gradient flows, bounds, Figure 3, phase diagrams.",
    no_args_is_help=True,
)

Out = Annotated[
    Path | None, typer.Option("--out", help="Output folder (default: $FTT_HOME/theory or ./ftt-home/theory).")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the mechanism and of the start.")]
Core = Annotated[float, typer.Option("--eta-core", help="Core noise (standard deviation).")]
Spu = Annotated[float, typer.Option("--eta-spu", help="Spurious noise (standard deviation).")]
D1 = Annotated[int, typer.Option("--d1", min=1, help="Number of core inputs.")]
D2 = Annotated[int, typer.Option("--d2", min=1, help="Number of spurious inputs.")]
K = Annotated[int, typer.Option("--k", min=1, help="Number of leading eigenvectors of Σ that span β.")]
M = Annotated[int, typer.Option("--m", min=1, help="Number of learned features.")]
P = Annotated[float, typer.Option("--p", help="Fraction of frozen principal components; p·m must be whole.")]
Time = Annotated[float, typer.Option("--t", help="Training time.")]


@app.command()
def flow(
    d1: D1 = 50,
    d2: D2 = 50,
    k: K = 5,
    m: M = 20,
    p: P = 0.25,
    eta_core: Core = 1.0,
    eta_spu: Spu = 0.5,
    t: Time = 1e4,
    points: Annotated[int, typer.Option("--points", min=2, help="Number of recorded times.")] = 60,
    seed: Seed = 0,
    out: Out = None,
    report: ReportFlag = None,
    json: JsonFlag = False,
) -> None:
    """Follow ERM, FTT and late joining over training time."""
    from ftt.cli.screen import watched
    from ftt.report.theory_pages import flow_page
    from ftt.theory.curves import curves
    from ftt.theory.setting import Setting

    setting = Setting(d1=d1, d2=d2, k=k, m=m, p=p, eta_core=eta_core, eta_spu=eta_spu, seed=seed)
    with watched():
        found = curves(setting, t, points)
    _show(json, {"command": "theory flow", **found.to_json()}, flow_page(found), out, report)


@app.command()
def bounds(
    settings: Annotated[int, typer.Option("--settings", min=1, help="Number of random mechanisms.")] = 20,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Number of starts per mechanism.")] = 2,
    seed: Seed = 0,
    out: Out = None,
    report: ReportFlag = None,
    json: JsonFlag = False,
) -> None:
    """Measure every statement against its bound over random mechanisms."""
    from ftt.cli.screen import watched
    from ftt.report.theory_pages import bounds_page
    from ftt.theory.surveys import random_settings, survey

    drawn = random_settings(settings, seeds, seed)
    with watched():
        found = survey(drawn, seeds)
    _show(json, {"command": "theory bounds", **found.to_json()}, bounds_page(found), out, report)


@app.command()
def toy(
    low: Annotated[float, typer.Option("--low", help="Smaller of the two noises.")] = 0.4,
    high: Annotated[float, typer.Option("--high", help="Larger of the two noises.")] = 1.0,
    variance: Annotated[float, typer.Option("--variance", help="Variance of the core input.")] = 2.0,
    t: Time = 1e3,
    seed: Seed = 0,
    out: Out = None,
    report: ReportFlag = None,
    json: JsonFlag = False,
) -> None:
    """Compute Figure 3 of the paper: two flows in the plane."""
    from ftt.report.theory_pages import toy_page
    from ftt.theory.figure3 import figure_3

    flows = figure_3(low, high, variance, t, seed)
    result = {"command": "theory toy", "seed": seed, "t": t, "flows": [each.to_json() for each in flows]}
    _show(json, result, toy_page(flows), out, report)


@app.command()
def phase(
    size: Annotated[int, typer.Option("--size", min=2, help="Number of cells along each noise.")] = 25,
    low: Annotated[float, typer.Option("--low", help="Smallest noise.")] = 0.15,
    high: Annotated[float, typer.Option("--high", help="Largest noise.")] = 1.5,
    d1: D1 = 30,
    d2: D2 = 20,
    k: K = 3,
    m: M = 10,
    p: P = 0.4,
    t: Time = 1e4,
    jobs: Annotated[int, typer.Option("--jobs", min=0, max=256, help="Number of processes (0: all cores).")] = 0,
    seed: Seed = 0,
    out: Out = None,
    report: ReportFlag = None,
    json: JsonFlag = False,
) -> None:
    """Map the test error over both noises and over p."""
    from ftt.cli.screen import watched
    from ftt.report.theory_pages import phase_page
    from ftt.theory.phases import Network, noise_grid, phase_diagram, sweep_noises, sweep_p
    from ftt.theory.setting import Setting
    from ftt.threads import available

    network = Network(m, p, t, seed)
    grid = noise_grid(low, high, size)
    setting = Setting(d1=d1, d2=d2, k=k, m=m, p=p, eta_core=high, eta_spu=high, seed=seed)
    mechanism, workers = setting.mechanism(), jobs or available()
    with watched():
        result = phase_diagram(mechanism, grid, grid, network, jobs=workers)
        sweep = sweep_p(mechanism, sweep_noises(mechanism, low, high), network, jobs=workers)
    sizes = {"d1": d1, "d2": d2, "k": k, "m": m, "p": p, "t": t, "seed": seed}
    numbers = {"command": "theory phase", "setting": sizes, **result.to_json(), "sweep": sweep.to_json()}
    _show(json, numbers, phase_page(result, sweep), out, report)


def _show(json: bool, result: dict[str, Any], page: TheoryPage, out: Path | None, report: Path | None) -> None:
    """Write the page and its figures; print one JSON object, or the findings, the table and the paths."""
    folder = out if out is not None else Path(os.environ.get("FTT_HOME") or "ftt-home") / "theory"
    files = page.write(folder)
    if report is not None:
        from ftt.report.page import write

        files.append(write(report, page.page()))
    if json:
        print_json({**result, "findings": list(page.findings), "files": [str(path) for path in files]})
        return
    from ftt.report.tables import TextTable

    print_table(TextTable(page.caption, page.columns, page.rows))
    print_lines(*page.findings, *map(str, files))
