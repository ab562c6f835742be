"""veclink match: link new rows with a collection that was linked before."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veclink.cli.new_rows import opened_other, payloads_of
from veclink.cli.places import check_outside
from veclink.cli.shared import (
    Columns,
    Payloads,
    Printing,
    SkipZero,
    Threads,
    check_choice,
    check_columns,
    check_output,
    command,
    opened,
)
from veclink.cli.summarised import summary_values
from veclink.errors import plural

if TYPE_CHECKING:
    from veclink.data.links import Links


@dataclass(frozen=True)
class Where:
    """The side that the new rows are of, which of them count, and where the other side is."""

    side: Annotated[str, typer.Option(metavar="a|b", help="The side that the new rows are of.")] = "a"
    against: Annotated[
        str | None,
        typer.Option(metavar="OTHER", help="The other side, where it moved or grew; its --payload names its rows."),
    ] = None
    skip_zero: SkipZero = False


@dataclass(frozen=True)
class Written(Payloads):
    """What is written, and what names the new rows there, and those of --against."""

    columns: Columns = None


@command
def match(
    new: Annotated[str, typer.Argument(metavar="NEW", help="Vectors of the new rows, in any format that link reads.")],
    linker: Annotated[Path, typer.Option(metavar="FOLDER", help="What veclink link --save-linker kept.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the links go: .csv or .parquet")],
    where: Where,
    printing: Printing,
    written: Written,
    update: Annotated[
        bool,
        typer.Option("--update", help="Take the new rows into the linker, too; the same command once more is safe."),
    ] = False,
    threads: Threads = None,
) -> None:
    """Link the rows of NEW with the other side, in one pass and with probabilities, by what an earlier run learned."""
    from veclink.data.links_files import check_beside
    from veclink.uses.linker import Linker
    from veclink.uses.new_rows.folder import check_place, check_unchanged
    from veclink.uses.new_rows.knowledge import SIDES

    check_choice("--side", where.side, SIDES)
    payload, payload_other = payloads_of(written, where.side, where.against)
    check_output(output, new, *([where.against] if where.against else []), *written.files())
    check_columns(written.columns, output)
    check_beside(output)
    if update:
        check_place(linker)
    known = Linker.load(linker)
    check_outside(output, linker)
    check_output(output, *filter(None, known.held.sources))
    with printing.progress() as listener:
        rows = opened(new, payload, payload=False, progress=listener)
        known_before = known.knows(rows, side=where.side) is not None
        links_of = known.match_and_update if update else known.match
        against = opened_other(where.against, payload_other, listener)
        links = links_of(
            rows,
            side=where.side,
            against=against,
            skip_zero=where.skip_zero,
            threads=threads,
            progress=listener,
        )
    # First the links, then the linker: a run that was killed between the two finds the linker as it was, and one that
    # was killed after both finds the rows in it.
    if update:
        check_unchanged(linker, known.held)
    links.save(output, written.columns)
    if update:
        known.save(linker)
    told = {"output": str(output), "updated": str(linker) if update else None, "known_before": known_before}
    said = f"{linker} knew these rows before: these are the links that they have in it now." if known_before else None
    taken_in = f"{linker} knows the new rows now." if update and not known_before else None
    printing.result(told | summary_values(links.summary), lambda: _print(links, output, said, taken_in))


def _print(links: Links, output: Path, first: str | None, last: str | None) -> None:
    """first, last: sentences before and after what is said of the links."""
    summary = links.summary
    if first is not None:
        typer.echo(first)
    sure = "" if summary.precision is None else f", about {summary.precision:.0%} of them right"
    typer.echo(f"{plural(len(links), 'link')}{sure}. {' '.join(summary.reasons)}")
    typer.echo(f"Written to {output}.")
    if last is not None:
        typer.echo(last)
