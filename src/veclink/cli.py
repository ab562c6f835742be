"""The command line: one function per command, from `commands`. Progress goes to stderr, results to stdout.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 the collections do not link, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import io
import sys
import traceback
from typing import Annotated, Any

import typer

from veclink import __version__
from veclink.commands.bench import bench
from veclink.commands.cluster import cluster
from veclink.commands.demo import demo
from veclink.commands.evaluate import evaluate
from veclink.commands.export import export
from veclink.commands.inspect import inspect
from veclink.commands.link import link
from veclink.commands.merge import merge
from veclink.commands.probe import probe
from veclink.commands.review import review
from veclink.commands.shared import ERROR, INTERRUPTED
from veclink.commands.translate import translate
from veclink.hiding import without_secrets

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
app.command("eval")(evaluate)
app.command()(review)
app.command()(merge)
app.command()(translate)
app.command()(cluster)
app.command()(export)
app.command()(inspect)
app.add_typer(bench, name="bench")


def main() -> None:
    """Run the command line; Ctrl-C before or after a command's own work ends it as quietly as during it.

    What is wrong with the usage, and the traceback of a bug, quote what was given: they are told without its passwords.
    """
    try:
        sys.exit(app(standalone_mode=False))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
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
