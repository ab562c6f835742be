"""The command line: one function per command, from `commands`. Progress goes to stderr, results to stdout.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 the collections do not link, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from typing import Annotated

import typer

from veclink import __version__
from veclink.cli.cluster import cluster
from veclink.cli.demo import demo
from veclink.cli.evaluate import evaluate
from veclink.cli.export import export
from veclink.cli.inspect import inspect
from veclink.cli.link import link
from veclink.cli.merge import merge
from veclink.cli.probe import probe
from veclink.cli.review import review
from veclink.cli.shared import INTERRUPTED
from veclink.cli.translate import translate

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
for _extra in entry_points(group="veclink.commands"):  # `bench`, where the laboratory is installed
    app.add_typer(_extra.load(), name=_extra.name)


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
