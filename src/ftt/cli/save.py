"""ftt save: from a finished run to a model in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ftt.cli.common import CacheFlag, DataFlag, HomeFlag, ThreadsFlag, print_lines


def save(
    run: Annotated[str, typer.Argument(help="id of a finished run, or its first digits (ftt status)")],
    folder: Annotated[Path, typer.Argument(help="new folder, or that of a saved model, which is replaced")],
    threshold: Annotated[
        float | None, typer.Option(help="predict the second of two classes above this probability [default: 0.5]")
    ] = None,
    examples: Annotated[int, typer.Option(min=0, max=1000, help="inputs kept for checking exports")] = 8,
    threads: ThreadsFlag = None,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Save the model of a finished run: features, probe, class names, preprocessing and card in one folder.

    What the run left in the store is not computed again.
    """
    from ftt import api
    from ftt import threads as pools
    from ftt.cli.screen import watched
    from ftt.store import Home

    kept = Home.from_environment(home, cache, data)
    with watched(), pools.limited_to(threads or pools.available()):
        written = api.save(run, folder, home=kept, threshold=threshold, examples=examples)
    print_lines(f"saved to {written}; next: ftt predict {written} NEW_DATA")
