"""Arguments and flags that take a name, which a shell can complete from what is registered."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

import typer

from ftt.errors import unknown

TRACKERS = ("tensorboard", "mlflow", "wandb")

Completer = Callable[[str], Iterator[tuple[str, str]]]
"""From the beginning of a word to the names that continue it, each with a line of help."""


def completes(*kinds: str) -> Completer:
    """Complete names of `ftt ls KIND`, for one or more kinds."""

    def complete(incomplete: str) -> Iterator[tuple[str, str]]:
        for kind in kinds:
            for name, summary in _summaries(kind).items():
                if name.startswith(incomplete):
                    yield name, summary

    return complete


def one_of(*words: str) -> Completer:
    """Complete one of a few words."""

    def complete(incomplete: str) -> Iterator[tuple[str, str]]:
        return ((word, "") for word in words if word.startswith(incomplete))

    return complete


def _log_to(context: typer.Context, choice: str | None) -> str | None:
    """Through the environment, so that worker processes see it too; put back when the command ends."""
    if choice is not None:
        if (name := choice.partition(":")[0]) not in TRACKERS:
            raise unknown("tracker", name, TRACKERS)
        context.call_on_close(partial(_put_back, "FTT_LOG", os.environ.get("FTT_LOG")))
        os.environ["FTT_LOG"] = choice
    return choice


def _put_back(variable: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(variable, None)
    else:
        os.environ[variable] = value


def _summaries(kind: str) -> dict[str, str]:
    # Not `ftt.ls`: a shell waits for the answer, and `ftt.api` imports what runs need.
    from ftt import registry
    from ftt.recipe import PRESETS

    if kind == "recipes":
        return {name: preset.summary for name, preset in PRESETS.items()}
    offered: registry.Registry[Any] = getattr(registry, kind.upper())
    return {name: entry.summary for name, entry in offered.entries().items()}


DatasetArgument = Annotated[
    str, typer.Argument(help="data set name (see `ftt ls datasets`)", autocompletion=completes("datasets"))
]
ExperimentArgument = Annotated[
    str, typer.Argument(help="experiment name (see `ftt ls experiments`)", autocompletion=completes("experiments"))
]
RecipeFlag = Annotated[
    str, typer.Option(help="recipe name (see `ftt ls recipes`)", autocompletion=completes("recipes"))
]
FreezeFlag = Annotated[
    str | None, typer.Option(help="another freezer (see `ftt ls freezers`)", autocompletion=completes("freezers"))
]
MethodFlag = Annotated[
    str | None,
    typer.Option(help="another method (see `ftt ls methods`), or none", autocompletion=completes("methods")),
]
BackboneFlag = Annotated[
    str | None, typer.Option(help="backbone name (see `ftt ls backbones`)", autocompletion=completes("backbones"))
]
JoinFlag = Annotated[
    str | None,
    typer.Option(help="where frozen and trained features meet: joint or late", autocompletion=one_of("joint", "late")),
]
LogFlag = Annotated[
    str | None,
    typer.Option(
        "--log",
        help="send runs to tensorboard, mlflow or wandb, NAME or NAME:FOLDER [env: FTT_LOG]",
        autocompletion=one_of(*TRACKERS),
        callback=_log_to,
    ),
]
BudgetFlag = Annotated[
    str,
    typer.Option(
        help="cpu (two cores), paper (the published setting) or smoke (tests)",
        autocompletion=one_of("cpu", "paper", "smoke"),
    ),
]
ProtocolFlag = Annotated[
    str,
    typer.Option(
        help="paper, or dfr-original: four groups, L1, twenty averages",
        autocompletion=one_of("paper", "dfr-original"),
    ),
]
