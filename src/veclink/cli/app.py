"""The command line: a table of commands. Progress goes to stderr, results to stdout.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 the collections do not link, 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import re
import signal
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import entry_points
from inspect import cleandoc, signature
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from veclink import __version__
from veclink.cli.links import cut, demo, evaluate, link, report, review
from veclink.cli.shared import ERROR, Terminated, one_sentence_errors, warn
from veclink.cli.uses import advise, cluster, inspect, many, match, merge, translate
from veclink.errors import without_secrets

GROUPS: dict[str, dict[str, Callable[..., None]]] = {
    "Start": {"demo": demo, "link": link, "cut": cut, "review": review, "report": report},
    "The next day": {"match": match, "merge": merge},
    "Analysis": {"eval": evaluate, "cluster": cluster, "advise": advise, "inspect": inspect},
    "More": {"many": many, "translate": translate},
}
MOVED = {
    "compare": "veclink eval NEW --truth OLD compares two files of links",
    "export": "veclink cut LINKS -o URL writes links to a store",
    "anchors": "embed some texts with both models yourself, and give the two files to veclink link --anchors",
    "probe": "veclink inspect A B says whether two collections can be linked",
}
"""Commands of 0.2, and what to use instead; the next release does not know them any more."""


class Commands(TyperGroup):
    """All commands: what goes wrong in one is told in one sentence, and so is the name of one that moved."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with one_sentence_errors():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that was asked for."""
        if args[0] in MOVED:
            warn(f"The command {args[0]} is gone: {MOVED[args[0]]}.")
            raise typer.Exit(2)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands in their groups, in plain lines: to load what draws panels takes as long as all else."""
        others = [name for name in self.commands if not any(name in runs for runs in GROUPS.values())]
        for group, runs in GROUPS.items():
            with formatter.section(group):
                names = [*runs, *(others if group == "More" else ())]
                formatter.write_dl([(name, self.commands[name].get_short_help_str(70)) for name in names])


class Panelled(TyperCommand):
    """A command whose help shows its options in panels; what is wrong with a call is told in plain lines."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "rich_markup_mode": "rich"})


app = typer.Typer(
    name="veclink",
    cls=Commands,
    help="Link the same objects across two vector collections made by different embedding models.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def add(name: str, run: Callable[..., None]) -> None:
    """Add a command, whose docstring has its help, that of its own options, and an example."""
    told, example = cleandoc(run.__doc__ or "").split("\n\nExample: ")
    told, _, own = told.partition("\n\nParameters\n----------\n")
    for option, text in re.findall(r"^(\w+)\n((?: {4}.+\n?)+)", own, re.MULTILINE):
        signature(run).parameters[option].default.help = " ".join(text.split())
    one_line_each = re.sub(r"(?<!\n)\n(?!\n)", " ", told)
    app.command(name, cls=Panelled, help=one_line_each, epilog=f"Example: {example}")(run)


for _runs in GROUPS.values():
    for _each in _runs.items():
        add(*_each)
for _extra in entry_points(group="veclink.commands"):  # `bench`, where the laboratory is installed
    app.add_typer(_extra.load(), name=_extra.name)


def main() -> None:
    """Run the command line. The traceback of a bug quotes what was given: it is printed without its passwords."""

    def terminate(*_: object) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, terminate)
    try:
        app()
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
