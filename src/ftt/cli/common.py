"""Flags that many commands share, and where results go."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

HomeFlag = Annotated[Path | None, typer.Option("--home", help="runs and artifacts [env: FTT_HOME, default ./ftt-home]")]
CacheFlag = Annotated[Path | None, typer.Option("--cache", help="fetched files [env: FTT_CACHE, default ~/.cache/ftt]")]
DataFlag = Annotated[Path | None, typer.Option("--data", help="folders you placed, one a data set [env: FTT_DATA]")]
ThreadsFlag = Annotated[int | None, typer.Option("--threads", min=1, help="threads of torch and BLAS together")]
EXTRA = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Settings of a command whose further flags are parameters (`ftt.cli.flags`)."""

JsonFlag = Annotated[bool, typer.Option("--json", help="one JSON object on standard output and nothing else")]


def print_json(content: Any) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(json.dumps(content, indent=2, sort_keys=True) + "\n")
