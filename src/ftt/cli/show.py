"""ftt show: one run of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ftt.cli.common import CacheFlag, DataFlag, HomeFlag, JsonFlag, print_json, print_lines, print_table

if TYPE_CHECKING:
    from ftt.runs.stored_run import StoredRun


def show(
    run: Annotated[str, typer.Argument(help="id of a run, or its beginning (see `ftt status`)")],
    json: JsonFlag = False,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Show a run: settings, result, warnings, artifacts, and the command that makes it again."""
    from ftt import api
    from ftt.store import Home

    found = api.show(run, home=Home.from_environment(home, cache, data))
    if json:
        print_json(found.to_json())
        return
    _print(found)


def _print(found: StoredRun) -> None:
    from ftt.cli.result_printing import print_result
    from ftt.report.tables import TextTable

    print_lines(f"run {found.run_id} · {found.state} · {found.folder}", style="bold")
    if found.result is not None:
        print_result(found.result)
    if found.error is not None:
        print_lines(f"failed: {found.error}", f"traceback: {found.folder / 'failed.json'}")
    rows = [[role, name, str(value)] for role, values in _settings(found).items() for name, value in values.items()]
    print_table(TextTable("settings", ("part", "parameter", "value"), rows, left=3))
    if found.artifacts is None:
        print_lines("artifacts: not recorded by the version that made this run")
    else:
        sizes = [("–" if a.bytes is None else f"{a.bytes / 1e6:.1f}") for a in found.artifacts]
        rows = [[a.stage, a.key[:16], size] for a, size in zip(found.artifacts, sizes, strict=True)]
        print_table(TextTable("artifacts", ("stage", "key", "MB"), rows, left=2))
    if found.state == "stopped":
        print_lines("the same command resumes this run from its last checkpoint:")
    again = (
        found.command or f"in Python: ftt.run(ftt.Spec.from_description(…)) with the spec in {found.folder}/spec.json"
    )
    print_lines(f"again: {again}")


def _settings(found: StoredRun) -> dict[str, dict[str, object]]:
    spec = found.spec.describe()
    recipe = spec.pop("recipe")
    assert isinstance(recipe, dict)
    parts = {**{name: spec[name] for name in ("data", "train", "probe")}, **recipe}
    found_parts: dict[str, dict[str, object]] = {
        "run": {"recipe": found.spec.recipe.name, "backbone": found.spec.backbone, "seed": found.spec.seed}
    }
    for role, values in parts.items():
        if isinstance(values, dict):
            found_parts[role] = dict(values)
    return found_parts
