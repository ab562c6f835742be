"""The command line: one module per command. Progress goes to stderr, results to stdout.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 the collections do not link, 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from veclink import __version__
from veclink.cli.advise import advise
from veclink.cli.anchors import anchors
from veclink.cli.cluster import cluster
from veclink.cli.compare import compare
from veclink.cli.cut import cut
from veclink.cli.demo import demo
from veclink.cli.evaluate import evaluate
from veclink.cli.export import export
from veclink.cli.inspect import inspect
from veclink.cli.link import link
from veclink.cli.many import many
from veclink.cli.match import match
from veclink.cli.merge import merge
from veclink.cli.probe import probe
from veclink.cli.report import report
from veclink.cli.review import review
from veclink.cli.shared import ERROR, exit_code, terminate
from veclink.cli.translate import translate
from veclink.errors import without_secrets

app = typer.Typer(
    name="veclink",
    help="Link the same objects across two vector collections made by different embedding models.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class Panelled(TyperCommand):
    """A command whose help shows its options in panels; what is wrong with a call is told in plain lines."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "rich_markup_mode": "rich"})


# of click, or of the copy of it that newer typer has in itself
ClickException: Any = typer.BadParameter.__mro__[2]

COMMANDS: tuple[tuple[str, Callable[..., None], str, str], ...] = (
    ("demo", demo, "Link the bundled sample and write its report", "veclink demo"),
    ("link", link, "Link the vectors of A with those of B",
     "veclink link a.parquet b.parquet --seeds seeds.csv -o links.csv --report links.html"),
    ("match", match, "Link new rows by what an earlier run learned",
     "veclink match new.npy --linker papers.linker -o new.csv"),
    ("cut", cut, "Move the threshold of links that were written before",
     "veclink cut links.parquet --precision 0.95 -o sure.csv"),
    ("probe", probe, "Say whether A and B can be linked", "veclink probe a.npy b.npy --seeds seeds.csv"),
    ("anchors", anchors, "Embed texts by both models, to link from",
     "veclink anchors texts.txt --model-a all-MiniLM-L6-v2 --model-b all-mpnet-base-v2 -o anchors"),
    ("many", many, "Link three or more collections",
     "veclink many a.npy b.npy c.npy --seeds 1,2=seeds.csv -o objects.csv"),
    ("eval", evaluate, "Hold links against the truth", "veclink eval links.csv --truth truth.csv"),
    ("report", report, "Write the page about links", "veclink report links.csv a.parquet b.parquet -o links.html"),
    ("compare", compare, "Say what changed between two sets of links", "veclink compare old.parquet new.parquet"),
    ("review", review, "Check links by eye, in the browser", "veclink review links.csv a.parquet b.parquet --open"),
    ("advise", advise, "Say whether to change the model, and how",
     "veclink advise old.parquet new.parquet --links links.parquet"),
    ("merge", merge, "Make one collection of A and B",
     "veclink merge a.parquet b.parquet --links links.csv -o merged.parquet --yes"),
    ("translate", translate, "Carry vectors from A's space to B's",
     "veclink translate queries.npy --links links.csv --a a.parquet --b b.parquet -o translated.npy"),
    ("cluster", cluster, "Cluster the objects of A and B",
     "veclink cluster a.parquet b.parquet --links links.csv -o clusters.csv"),
    ("export", export, "Write links to a store", "veclink export links.csv --to sqlite://links.db#links --yes"),
    ("inspect", inspect, "Say what is in a collection", "veclink inspect a.parquet"),
)  # fmt: skip
"""Every command in the order of the help: its name, what runs, what it does, and how it is called."""

for _name, _run, _does, _example in COMMANDS:
    app.command(_name, cls=Panelled, short_help=f"{_does}.", epilog=f"Example: {_example}")(_run)
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
