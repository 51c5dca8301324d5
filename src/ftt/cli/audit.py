"""ftt audit: where a classifier that is already there fails, what it follows, which labels look wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ftt.cli.common import (
    CacheFlag,
    DataFlag,
    JsonFlag,
    ReportFlag,
    ThreadsFlag,
    print_json,
    print_lines,
    print_table,
)


def audit(
    context: typer.Context,
    classifier: Annotated[
        Path,
        typer.Argument(help="table of labels, predictions, attributes (.csv, .parquet, .npz, .npy folder), or a model"),
    ],
    on: Annotated[
        str | None,
        typer.Argument(help="for a saved model: data set name, labelled list or features, folder of images"),
    ] = None,
    label: Annotated[str, typer.Option(help="column of the label")] = "y",
    attribute: Annotated[str, typer.Option(help="columns that rows are grouped by, with commas")] = "attribute",
    prediction: Annotated[str, typer.Option(help="column of the predicted label")] = "predicted",
    other: Annotated[str | None, typer.Option(help="column of other predictions, to compare with")] = None,
    split: Annotated[str, typer.Option(help="column of the split; training rows give the weights of groups")] = "split",
    split_audited: Annotated[str, typer.Option(help="split that is audited")] = "test",
    column: Annotated[
        str | None, typer.Option(help="for a saved model: column of paths, texts or features, as in ftt predict")
    ] = None,
    image_root: Annotated[Path | None, typer.Option(help="folder that paths of a list are relative to")] = None,
    fewest: Annotated[int, typer.Option(min=1, help="smallest group that is listed")] = 30,
    issues: Annotated[Path | None, typer.Option(help="write the rows with label scores to this CSV file")] = None,
    report: ReportFlag = None,
    json: JsonFlag = False,
    threads: ThreadsFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Audit a classifier: accuracy by group, what its predictions follow, and labels that look wrong.

    Of a table, labels are judged where it has features (a column `features`, or features_0, features_1, …) or
    probabilities; without predictions those of a probe on the features are audited. A saved model predicts the data
    itself: ftt audit model list.csv --attribute place, or ftt audit model digits --core-noise 0.2
    """
    from ftt import api
    from ftt import threads as pools
    from ftt.cli.screen import watched
    from ftt.diagnosis.audit_result import SHOWN
    from ftt.store import Home

    options = _options(context, on)
    if options is None:
        columns = {"label": label, "attributes": attribute.split(","), "other": other, "split": split}
        inputs = {"column": column, "image_root": image_root} if on is not None else {"prediction": prediction}
        options = {name: value for name, value in (columns | inputs).items() if value is not None}
    options["audited"] = split_audited
    with watched(), pools.limited_to(threads or pools.available()):
        home = Home.from_environment(None, cache, data)
        made = api.audit(classifier, on, fewest=fewest, home=home, **options)
    if issues is not None:
        made.write_label_issues(issues)
    if report is not None:
        made.write_page(report)
    if json:
        print_json(made.to_json())
        return
    print_table(made.group_table(SHOWN))
    for sentence in made.sentences():
        print_lines(sentence)
    for path in (issues, report):
        if path is not None:
            print_lines(str(path), style="dim")


def _options(context: typer.Context, on: str | None) -> dict[str, Any] | None:
    """The parameters of a data set by name; None where there is none, and further flags are refused."""
    from ftt import registry
    from ftt.cli.flags import parse
    from ftt.runs.compose import owners_of

    if on is not None and on in registry.DATASETS.entries():
        return dict(parse(context.args, {"data": owners_of({"dataset": on, "recipe": "init"})["data"]}))
    if context.args:
        from ftt.errors import FttError

        raise FttError("no such flag of ftt audit", given=context.args[0], allowed="see ftt audit --help")
    return None
