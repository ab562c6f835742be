"""veclink many: link three or more collections, and list the objects that are in several of them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veclink.cli.shared import Computing, Printing, check_output, command
from veclink.cli.summarised import summary_values
from veclink.errors import plural

if TYPE_CHECKING:
    from veclink.uses.many import ManyLinks


@command
def many(
    collections: Annotated[list[str], typer.Argument(metavar="A B C …", help="Three or more files or store URLs.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the objects go: .csv or .parquet")],
    computing: Computing,
    printing: Printing,
    seeds: Annotated[
        list[str] | None,
        typer.Option(metavar="I,J=FILE", help="Known pairs of collections I and J, counted from 1; repeatable."),
    ] = None,
) -> None:
    """Link three or more collections, each made by its own model, into one consistent list of objects."""
    from veclink.uses.many import link_many

    known = dict(map(_seeds, seeds or ()))
    check_output(output, *collections, *map(str, known.values()), what="objects")
    with printing.progress() as listener:
        found = link_many(collections, seeds=known, progress=listener, **asdict(computing))
    found.save(output)
    printing.result({"output": str(output), **_told(found)}, lambda: _say(found, output))


def _seeds(text: str) -> tuple[tuple[int, int], Path]:
    ends, _, file = text.partition("=")
    first, _, second = ends.partition(",")
    if not (file and first.strip().isdigit() and second.strip().isdigit()):
        raise typer.BadParameter(
            f"{text!r} does not say whose pairs these are; write 1,2=seeds.csv.", param_hint="--seeds"
        )
    return (int(first) - 1, int(second) - 1), Path(file)


def _told(found: ManyLinks) -> dict[str, Any]:
    pairwise = {f"{i + 1},{j + 1}": summary_values(links.summary) for (i, j), links in found.pairwise.items()}
    return {"objects": len(found), "pairwise": pairwise}


def _say(found: ManyLinks, output: Path) -> None:
    typer.echo(found.sentence)
    for (i, j), links in found.pairwise.items():
        typer.echo(f"  collections {i + 1} and {j + 1}: {plural(len(links), 'link')}, {links.summary.verdict_in_words}")
    typer.echo(f"Written to {output}.")
