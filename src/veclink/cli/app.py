"""The command line: one module per command. Progress goes to stderr, results to stdout.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 the collections do not link, 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer

from veclink import __version__
from veclink.cli.advise import advise
from veclink.cli.anchors import anchors
from veclink.cli.cluster import cluster
from veclink.cli.demo import demo
from veclink.cli.evaluate import evaluate
from veclink.cli.export import export
from veclink.cli.inspect import inspect
from veclink.cli.link import link
from veclink.cli.merge import merge
from veclink.cli.probe import probe
from veclink.cli.review import review
from veclink.cli.shared import ERROR, exit_code, terminate
from veclink.cli.translate import translate
from veclink.errors import without_secrets

app = typer.Typer(
    name="veclink",
    help="Link the same objects across two vector collections made by different embedding models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

# of click, or of the copy of it that newer typer has in itself
ClickException: Any = typer.BadParameter.__mro__[2]

app.command()(demo)
app.command()(link)
app.command()(probe)
app.command()(anchors)
app.command("eval")(evaluate)
app.command()(review)
app.command()(advise)
app.command()(merge)
app.command()(translate)
app.command()(cluster)
app.command()(export)
app.command()(inspect)
for _extra in entry_points(group="veclink.commands"):  # `bench`, where the laboratory is installed
    app.add_typer(_extra.load(), name=_extra.name)


def main() -> None:
    """Run the command line; Ctrl-C before or after a command's own work ends it as quietly as during it.

    What is wrong with the usage, and the traceback of a bug, quote what was given: they are told without its passwords.
    """
    signal.signal(signal.SIGTERM, terminate)
    try:
        sys.exit(app(standalone_mode=False))
    except KeyboardInterrupt as interrupt:
        sys.exit(exit_code(interrupt))
    except BrokenPipeError:
        _close_stdout()
        sys.exit(ERROR)
    except ClickException as error:
        told = io.StringIO()
        error.show(told)
        sys.stderr.write(without_secrets(told.getvalue()))
        sys.exit(error.exit_code)
    except typer.Abort:
        sys.stderr.write("Aborted!\n")
        sys.exit(ERROR)
    except Exception:
        sys.stderr.write(without_secrets(traceback.format_exc()))
        sys.exit(ERROR)


def _close_stdout() -> None:
    """Nobody reads the output any more: let Python find nothing to write, and nothing to complain of, at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"veclink {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Link the same objects across two vector collections made by different embedding models."""
