"""The command line: one file a command. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import sys

import typer

from ftt.cli import data, demo, doctor, ls, reproduce, results, run, status, sweep, theory
from ftt.cli.common import EXTRA
from ftt.errors import FttError
from ftt.version import __version__

app = typer.Typer(
    name="ftt",
    help="Freeze then Train: representation learning that survives spurious correlations and label noise.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Rendering help with rich costs more time than everything else `ftt --help` does.
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ftt {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    return None


app.command()(demo.demo)
app.command(context_settings=EXTRA)(run.run)
app.command()(reproduce.reproduce)
app.command()(ls.ls)
app.add_typer(data.app, name="data")
app.add_typer(theory.app, name="theory")
app.command()(sweep.sweep)
app.command()(status.status)
app.command()(results.results)
app.command()(doctor.doctor)


def main() -> None:
    """Entry point: a problem the user can solve ends with exit code 2 and without a traceback."""
    try:
        app()
    except FttError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        sys.stderr.write("stopped; the same command goes on from the last checkpoint\n")
        raise SystemExit(130) from None
