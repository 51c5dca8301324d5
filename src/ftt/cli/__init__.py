"""The command line: one file per command. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import NoReturn

import typer

from ftt.cli import (
    audit,
    compare,
    data,
    demo,
    diagnose,
    doctor,
    export,
    ls,
    predict,
    report,
    reproduce,
    results,
    rm,
    run,
    save,
    show,
    status,
    sweep,
    theory,
)
from ftt.cli.common import EXTRA
from ftt.cli.loudness import App
from ftt.cli.missing import missing_package
from ftt.errors import FttError, as_ftt_error
from ftt.freed_memory import collect_seldom, reuse_freed_memory
from ftt.plain_text import printable, writes_everything
from ftt.stopping import Stopped
from ftt.version import __version__

app = App(
    name="ftt",
    help="Freeze then Train: representation learning that survives spurious correlations and label noise.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
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
    version: bool = typer.Option(False, "--version", "-V", callback=_version, is_eager=True, help="Show the version."),
    offline: bool = typer.Option(False, "--offline", help="Use no network [env: FTT_OFFLINE=1]."),
) -> None:
    if offline:
        from ftt.network import go_offline

        go_offline()


app.command()(demo.demo)
app.command(context_settings=EXTRA)(run.run)
app.command(context_settings=EXTRA)(compare.compare)
app.command(context_settings=EXTRA)(diagnose.diagnose)
app.command(context_settings=EXTRA)(audit.audit)
app.command()(save.save)
app.command()(predict.predict)
app.command()(export.export)
app.command()(reproduce.reproduce)
app.command()(ls.ls)
app.add_typer(data.app, name="data")
app.add_typer(theory.app, name="theory")
app.command()(sweep.sweep)
app.command()(status.status)
app.command()(results.results)
app.command()(show.show)
app.command()(rm.rm)
app.command()(report.report)
app.command()(doctor.doctor)


INTERRUPTED = 130
RESUME = "the same command resumes where it stopped"


def main() -> None:
    """Entry point: a problem the user can solve ends with exit code 2 and without a traceback."""
    if sys.stdout is None:
        # Standard output was closed: whoever did so wants no output.
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (open until the end)
    # A process of our own may keep what it has freed: it trains faster for that, and begins sooner.
    reuse_freed_memory()
    collect_seldom()
    writes_everything(sys.stdout)
    writes_everything(sys.stderr)
    try:
        # What a command returns is nothing; an exit code comes back where a command asked for one.
        code = app(standalone_mode=False)
    except Stopped as stopped:
        _end(f"stopped at {stopped.where}; {RESUME}", stopped.code)
    except (KeyboardInterrupt, typer.Abort):
        _end(f"stopped; {RESUME}", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has gone; Python would complain about it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except ModuleNotFoundError as error:
        if not (named := missing_package(error)):
            raise
        _end(f"error: {named}", 2)
    except (FttError, OSError, MemoryError, OverflowError, UnicodeError, RecursionError) as error:
        _end(f"error: {as_ftt_error(error)}", 2)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        # A call that does not parse: unknown command, missing argument, number out of range.
        _end(f"error: {error.format_message()}\n  next:    ftt --help, or ftt COMMAND --help", 2)
    if code == INTERRUPTED:
        # Typer turns Ctrl-C into this exit code.
        _end(f"stopped; {RESUME}", INTERRUPTED)
    raise SystemExit(code or 0)


def _end(message: str, code: int) -> NoReturn:
    """A last line for the user, and the exit code."""
    with contextlib.suppress(OSError):
        sys.stderr.write(printable(message) + "\n")
    raise SystemExit(code) from None
