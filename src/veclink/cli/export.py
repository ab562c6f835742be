"""veclink export: write links back into a store."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veclink.cli.shared import Printing, check_choice, command

if TYPE_CHECKING:
    from veclink.uses.exporting import Changes


@command
def export(
    links: Annotated[Path, typer.Argument(metavar="LINKS", help="Links, as veclink link wrote them.")],
    to: Annotated[str, typer.Option(metavar="URL", help="The table or collection that takes them.")],
    printing: Printing,
    annotate: Annotated[
        str | None,
        typer.Option(metavar="a|b", help="Set veclink_id and veclink_probability on this side, which is at URL."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without it, only say what would change.")] = False,
) -> None:
    """Write a table of links (a, b, probability) to a store, or note the links on one side's objects."""
    from veclink.data.links import Links
    from veclink.uses import exporting

    if annotate is not None:
        check_choice("--annotate", annotate, exporting.SIDES)
    loaded = Links.load(links)
    if annotate is None:
        changes, what = exporting.export_links(loaded, to, write=yes), "links"
    else:
        changes, what = exporting.annotate(loaded, to, annotate, write=yes), "objects with a note"
    printing.result({**asdict(changes), "written": yes and changes.any}, lambda: _say(changes, done=yes, what=what))


def _say(changes: Changes, *, done: bool, what: str) -> None:
    counts = f"{changes.new:,} new, {changes.changed:,} changed, {changes.removed:,} removed, {changes.same:,} kept"
    if not changes.any:
        typer.echo(f"{changes.store} needs no change: {changes.same:,} {what} are there already.")
    else:
        typer.echo(f"{changes.store}: {counts} ({what}).")
        for example in changes.examples:
            typer.echo(f"  {example}")
    if changes.missing:
        typer.echo(f"{changes.missing:,} linked ids are not in the store and were left out.")
    if changes.any:
        typer.echo("Written." if done else "Nothing was written; add --yes to do it.")
