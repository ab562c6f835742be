"""veclink inspect: say what is in a collection."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veclink.cli.shared import Printing, command

if TYPE_CHECKING:
    from veclink.probing.inspecting import Inspection

MOST_GROUPS, MOST_NAMES = 5, 8  # groups of copies that are listed, and rows of each; --json has all


@command
def inspect(
    source: Annotated[str, typer.Argument(metavar="URL", help="A file of vectors, or a store's URL.")],
    printing: Printing,
) -> None:
    """Say what is in a collection: size, norms, duplicates, copies, and whether it mixes vectors of two models."""
    from veclink.probing.inspecting import inspect_collection
    from veclink.stores.opening import open_collection

    with printing.progress() as listener:
        found = inspect_collection(open_collection(source, payload=False, progress=listener))
    printing.result(asdict(found), lambda: _say(found))


def _say(found: Inspection) -> None:
    norms = found.norms
    typer.echo(f"{found.name}: {found.count:,} vectors of {found.dimension:,} numbers ({found.dtype}).")
    length = "all of length 1" if found.unit_length else "lengths {least:.3g} to {most:.3g}, median {median:.3g}"
    typer.echo(f"Norms: {length.format(**norms)}; {found.zero:,} zero, {found.not_finite:,} with NaN or infinity.")
    typer.echo(f"Duplicates: {found.duplicates:,} vectors repeat an earlier one.")
    typer.echo(f"Copies: {_copies(found.copies)}")
    typer.echo(f"Centring: the mean of the directions has length {found.centring:.2f} (0: centred, 1: all alike).")
    if found.ids:
        typer.echo(f"Ids: {', '.join(map(repr, found.ids))}, …")
    typer.echo(("TWO MODELS? " if found.two_models else "One model: ") + found.reasons[0])


def _copies(groups: list[list[Any]]) -> str:
    """The groups of rows that stand for the same object, the largest first."""
    if not groups:
        return "no row stands for the same object as another."
    repeated = sum(len(group) - 1 for group in groups)
    lines = [f"{repeated:,} rows stand for the same object as another one, in {len(groups):,} groups."]
    for group in groups[:MOST_GROUPS]:
        names = ", ".join(map(str, group[:MOST_NAMES]))
        more = f", and {len(group) - MOST_NAMES:,} more" if len(group) > MOST_NAMES else ""
        lines.append(f"  {names}{more}")
    if len(groups) > MOST_GROUPS:
        lines.append(f"  … and {len(groups) - MOST_GROUPS:,} more groups; --json lists all.")
    return "\n".join(lines)
