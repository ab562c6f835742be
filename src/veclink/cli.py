"""The command line: one function per command, from `commands`. Progress goes to stderr, results to stdout.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 the collections do not link, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import sys
from typing import Annotated

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
from veclink.commands.shared import INTERRUPTED
from veclink.commands.translate import translate

app = typer.Typer(
    name="veclink",
    help="Link the same objects across two vector collections made by different embedding models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

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
    """Run the command line; Ctrl-C before or after a command's own work ends it as quietly as during it."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


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
