"""`ftt theory`: the paper's Section 3, measured and drawn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ftt.cli.common import JsonFlag, print_json
from ftt.errors import FttError

if TYPE_CHECKING:
    from rich.table import Table

app = typer.Typer(
    help="The paper's theory as numbers and pictures: gradient flows, bounds, the toy example, phase diagrams.",
    no_args_is_help=True,
)

Out = Annotated[
    Path | None, typer.Option("--out", help="Folder for the pictures; default $FTT_HOME/theory or ./ftt-home/theory.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the mechanism and of the start.")]
Core = Annotated[float, typer.Option("--eta-core", help="Core noise η_core.")]
Spu = Annotated[float, typer.Option("--eta-spu", help="Spurious noise η_spu.")]
D1 = Annotated[int, typer.Option("--d1", min=1, help="Number of core features.")]
D2 = Annotated[int, typer.Option("--d2", min=1, help="Number of spurious features.")]
K = Annotated[int, typer.Option("--k", min=1, help="Leading eigenvectors of Σ that span β.")]
M = Annotated[int, typer.Option("--m", min=1, help="Number of learned features.")]
P = Annotated[float, typer.Option("--p", help="Fraction of frozen principal components; p·m must be whole.")]
Time = Annotated[float, typer.Option("--t", help="Training time of the flow.")]


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
    points: Annotated[int, typer.Option("--points", min=2, help="Recorded times.")] = 60,
    seed: Seed = 0,
    out: Out = None,
    json: JsonFlag = False,
) -> None:
    """Curves of ERM and FTT over training time, with the bounds."""
    import numpy as np

    from ftt.cli.screen import watched
    from ftt.progress import track
    from ftt.report import charts
    from ftt.report.theory import flow_chart
    from ftt.theory import flow as follow
    from ftt.theory import theorem_1, theorem_2
    from ftt.theory.setting import Setting

    _need_positive("t", t)
    setting = Setting(d1=d1, d2=d2, k=k, m=m, p=p, eta_core=eta_core, eta_spu=eta_spu, seed=seed)
    mechanism = setting.mechanism()
    times = np.concatenate([[0.0], np.geomspace(min(1e-2, t / 10), t, points - 1)])
    with watched():
        erm, ftt = (
            follow(mechanism, m, fraction, times, rng=setting.start_rng())
            for fraction in track((0.0, p), "gradient flow", 2)
        )
    files = charts.save(flow_chart(erm, ftt), _folder(out), "flow")
    upper = theorem_1(mechanism, any_order=True) / mechanism.err_te
    lower = theorem_2(mechanism, erm.W[-1]) if eta_core > eta_spu and m <= d1 else None
    result = {
        "command": "theory flow",
        "setting": setting.describe(),
        "t": times.tolist(),
        **{
            name: {
                "ratio": run.ratio.tolist(),
                "l_tr": run.l_tr.tolist(),
                "l_te": run.l_te.tolist(),
                "c": run.c.tolist(),
                "drift": run.drift.tolist(),
                "c_0": run.c_0,
                "steps": run.steps,
            }
            for name, run in (("erm", erm), ("ftt", ftt))
        },
        "err_tr": mechanism.err_tr,
        "err_te": mechanism.err_te,
        "theorem_1": upper,
        "theorem_2": lower,
        "files": [str(path) for path in files],
    }
    table = _table(
        f"ℓ_te/err*_te over t; Theorem 1: <= {upper:.4f}" + (f"; Theorem 2: >= {lower:.4f}" if lower else ""),
        ("t", "ERM ℓ_te/err*", "FTT ℓ_te/err*", "ERM ℓ_tr/err*", "FTT ℓ_tr/err*", "ERM c_t", "FTT c_t"),
    )
    for i in sorted({*range(0, times.size, max(1, times.size // 10)), times.size - 1}):
        cells = (times[i], erm.ratio[i], ftt.ratio[i], *(run.l_tr[i] / mechanism.err_tr for run in (erm, ftt)))
        table.add_row(*(f"{value:.5g}" for value in (*cells, erm.c[i], ftt.c[i])))
    _show(json, result, table, files)


@app.command()
def bounds(
    settings: Annotated[int, typer.Option("--settings", min=1, help="Random valid settings.")] = 20,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Starts per setting.")] = 2,
    seed: Seed = 0,
    out: Out = None,
    json: JsonFlag = False,
) -> None:
    """Every statement, measured against its bound, over random settings and starts."""
    from dataclasses import asdict

    from ftt.cli.screen import watched
    from ftt.report import charts
    from ftt.report.theory import bounds_chart
    from ftt.theory.setting import random_setting
    from ftt.theory.survey import summarise, survey

    drawn = [random_setting(seed + i) for i in range(settings)]
    with watched():
        checks = survey(drawn, seeds)
    lines = summarise(checks)
    files = charts.save(bounds_chart(checks), _folder(out), "bounds")
    result = {
        "command": "theory bounds",
        "settings": [setting.describe() for setting in drawn],
        "summary": [asdict(line) for line in lines],
        "checks": [{**asdict(check), "holds": check.holds} for check in checks],
        "files": [str(path) for path in files],
    }
    table = _table(
        f"{settings} settings × {seeds} starts",
        ("statement", "holds", "of", "median measured", "", "median bound"),
    )
    for line in lines:
        style = None if line.held == line.checked else "bold"
        cells = (line.statement, f"{line.held}", f"{line.checked}", f"{line.median_measured:.5g}", line.sense)
        table.add_row(*cells, f"{line.median_bound:.5g}", style=style)
    _show(json, result, table, files)


@app.command()
def toy(
    low: Annotated[float, typer.Option("--low", help="The smaller of the two noises.")] = 0.4,
    high: Annotated[float, typer.Option("--high", help="The larger of the two noises.")] = 1.0,
    variance: Annotated[float, typer.Option("--variance", help="Σ, the variance of the core feature.")] = 2.0,
    t: Time = 1e3,
    seed: Seed = 0,
    out: Out = None,
    json: JsonFlag = False,
) -> None:
    """Figure 3 of the paper: two flows in the plane (d = 2, m = 1) and where retraining ends."""
    from ftt.report import charts
    from ftt.report.theory_maps import toy_chart
    from ftt.theory import single_feature_ratio, theorem_1
    from ftt.theory.toy import figure_3

    _need_positive("t", t)
    if not 0 < low < high or variance <= high**2:
        raise FttError(
            "these noises do not make the toy example",
            given=f"low {low:g}, high {high:g}, variance {variance:g}",
            allowed="0 < low < high, variance > high²",
        )
    toys = figure_3(low, high, variance, t, seed)
    files = charts.save(toy_chart(toys), _folder(out), "toy")
    table = _table(
        "Toy example, d = 2, m = 1", ("setting", "v(t)", "v_test", "ℓ_te/err*_te", "closed form", "Theorem 1")
    )
    rows = []
    for name, each in toys:
        mechanism, end, ratio = each.flow.mechanism, each.flow.v[-1], float(each.flow.ratio[-1])
        closed, limit = single_feature_ratio(mechanism), theorem_1(mechanism, any_order=True) / mechanism.err_te
        rows.append(
            {
                "setting": name,
                "eta_core": mechanism.eta_core,
                "eta_spu": mechanism.eta_spu,
                "v": end.tolist(),
                "v_test": each.v_test.tolist(),
                "ratio": ratio,
                "closed_form": closed,
                "theorem_1": limit,
                "approximation": each.approximation,
                "spurious": each.spurious,
            }
        )
        pairs = [f"({at[0]:.4f}, {at[1]:.4f})" for at in (end, each.v_test)]
        table.add_row(name, *pairs, f"{ratio:.5f}", f"{closed:.5f}", f"{limit:.5f}")
    result = {"command": "theory toy", "seed": seed, "t": t, "flows": rows, "files": [str(path) for path in files]}
    _show(json, result, table, files)


@app.command()
def phase(
    size: Annotated[int, typer.Option("--size", min=2, help="Cells along each noise.")] = 25,
    low: Annotated[float, typer.Option("--low", help="Smallest noise.")] = 0.15,
    high: Annotated[float, typer.Option("--high", help="Largest noise.")] = 1.5,
    d1: D1 = 30,
    d2: D2 = 20,
    k: K = 3,
    m: M = 10,
    p: P = 0.4,
    t: Time = 1e4,
    jobs: Annotated[int, typer.Option("--jobs", min=0, help="Processes; 0 takes every core.")] = 0,
    seed: Seed = 0,
    out: Out = None,
    json: JsonFlag = False,
) -> None:
    """Heat maps of ℓ_te/err* over the two noises for ERM, PCA and FTT, and the sweep over p."""
    import numpy as np

    from ftt.cli.screen import watched
    from ftt.report import charts
    from ftt.report.theory_maps import phase_chart, sweep_chart
    from ftt.theory import Mechanism, excluded_eta_core
    from ftt.theory.flow import frozen_count
    from ftt.theory.phase import phase as compute
    from ftt.theory.phase import sweep_p
    from ftt.threads import available

    _need_positive("t", t)
    if not 0 < low < high:
        raise FttError("the noises are not a range", given=f"low {low:g}, high {high:g}", allowed="0 < low < high")
    frozen_count(m, p)
    rng = np.random.default_rng([seed, 0])
    mechanism = Mechanism.random(rng, d1=d1, d2=d2, k=k, eta_core=high, eta_spu=high)
    grid = np.geomspace(low, high, size)
    workers = jobs or available()
    with watched():
        result = compute(mechanism, m, p, grid, grid, t=t, seed=seed, jobs=workers)
    middle = float(np.sqrt(low * high))
    excluded = excluded_eta_core(mechanism.with_noise(eta_spu=middle))
    noises = [(high, middle), (1.5 * middle, middle), (middle, high), (excluded, middle)]
    names = [f"η_core = {core:.3g}, η_spu = {spu:.3g}" for core, spu in noises]
    names[-1] += " (excluded)"
    with watched():
        ratios = sweep_p(mechanism, m, noises, t=t, jobs=workers)
    folder = _folder(out)
    files = charts.save(phase_chart(result, m, p, t), folder, "phase")
    files += charts.save(sweep_chart(ratios, names, k, t), folder, "phase-p")
    table = _table("ℓ_te/err*_te over the grid", ("method", "smallest", "median", "largest", "cells above 1.01"))
    for name, values in (("ERM", result.erm), ("PCA", result.pca), ("FTT", result.ftt)):
        numbers = (values.min(), np.median(values), values.max())
        table.add_row(name, *(f"{value:.4f}" for value in numbers), f"{int((values > 1.01).sum())} of {values.size}")
    _show(
        json,
        {
            "command": "theory phase",
            "setting": {"d1": d1, "d2": d2, "k": k, "m": m, "p": p, "t": t, "seed": seed},
            "eta_core": grid.tolist(),
            "eta_spu": grid.tolist(),
            "erm": result.erm.tolist(),
            "pca": result.pca.tolist(),
            "ftt": result.ftt.tolist(),
            "excluded_eta_core": result.excluded.tolist(),
            "sweep": [
                {"eta_core": core, "eta_spu": spu, "ratio": over.tolist()}
                for (core, spu), over in zip(noises, ratios, strict=True)
            ],
            "files": [str(path) for path in files],
        },
        table,
        files,
    )


def _folder(out: Path | None) -> Path:
    return out if out is not None else Path(os.environ.get("FTT_HOME") or "ftt-home") / "theory"


def _need_positive(name: str, value: float) -> None:
    if not 0 < value < float("inf"):
        raise FttError(f"{name} is not a positive number", given=value, allowed=f"0 < {name}")


def _table(title: str, columns: Sequence[str]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    return table


def _show(json: bool, result: dict[str, Any], table: Table, files: Sequence[Path]) -> None:
    """The JSON object alone, or the table and the paths of the pictures."""
    if json:
        print_json(result)
        return
    from rich.console import Console

    Console().print(table)
    for path in files:
        typer.echo(str(path))
