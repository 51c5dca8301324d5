"""ftt diagnose: will training help or harm on this data, and which recipe to run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ftt.cli.common import (
    CacheFlag,
    DataFlag,
    HomeFlag,
    JsonFlag,
    ReportFlag,
    ThreadsFlag,
    print_json,
    print_lines,
    print_table,
)


def diagnose(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(help="data set name (see `ftt ls datasets`)")],
    backbone: Annotated[str | None, typer.Option(help="backbone name (see `ftt ls backbones`)")] = None,
    budget: Annotated[
        str, typer.Option(help="cpu (two cores), paper (the published setting) or smoke (tests)")
    ] = "cpu",
    seed: Annotated[int, typer.Option(help="seed of the noise of data sets that add it")] = 0,
    predict_attribute: Annotated[
        bool, typer.Option("--predict-attribute", help="predict the attribute of the training split, do not read it")
    ] = False,
    chart: Annotated[Path | None, typer.Option(help="draw the chart to this .png or .svg file")] = None,
    report: ReportFlag = None,
    json: JsonFlag = False,
    threads: ThreadsFlag = None,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Estimate the noises of label and shortcut, and say whether training will help or harm.

    Nothing is trained, and the test split is not looked at. Parameters of the data set are flags:
    ftt diagnose dominoes --core-noise 0.2, or ftt diagnose embeddings --path features.npz
    """
    from ftt import api
    from ftt import threads as pools
    from ftt.cli.flags import parse
    from ftt.cli.screen import watched
    from ftt.runs.compose import owners_of
    from ftt.store import Home

    options: dict[str, Any] = {"budget": budget, "seed": seed}
    options |= parse(context.args, owners_of({"dataset": dataset, "recipe": "init", "budget": budget}))
    with watched(), pools.limited_to(threads or pools.available()):
        made = api.diagnose(
            dataset,
            backbone=backbone,
            predict_attribute=predict_attribute,
            home=Home.from_environment(home, cache, data),
            **options,
        )
    drawn = None if chart is None else _draw(made.chart(), chart)
    if report is not None:
        from ftt.report.page import write

        write(report, made.page())
    if json:
        print_json(made.to_json())
        return
    print_table(made.table())
    for sentence in made.sentences():
        print_lines(sentence)
    for note in made.notes:
        print_lines(f"note: {note}", style="yellow")
    print_lines(f"took {made.seconds:.1f} s, features apart" + (f" · {drawn}" if drawn else ""), style="dim")


def _draw(made: Any, path: Path) -> Path:
    from ftt.report.charts import save

    return save(made, path.parent, path.stem, [path.suffix.lstrip(".").lower()])[0]
