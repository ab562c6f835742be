"""veclink eval: hold links against the truth, or against a column that both collections carry."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veclink.cli.shared import AsJson, Payloads, Printing, command, opened
from veclink.errors import InputError

if TYPE_CHECKING:
    from veclink.data.collection import Collection


@command
def evaluate(
    links: Annotated[Path, typer.Argument(metavar="LINKS", help="Links, or any pairs: CSV or Parquet, columns a,b.")],
    payloads: Payloads,
    a: Annotated[str | None, typer.Argument(metavar="A", help="With --by: the first collection.")] = None,
    b: Annotated[str | None, typer.Argument(metavar="B", help="With --by: the second one.")] = None,
    truth: Annotated[
        Path | None, typer.Option(help="The true pairs, in the same terms: CSV or Parquet, columns a,b.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Instead: a column of A and B that tells the same objects, such as title."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say how right the links are: precision, recall and F1 against known pairs, or as far as a column tells."""
    printing = Printing(as_json)
    if (truth is None) == (by is None):
        raise typer.BadParameter("Give either the true pairs (--truth) or a column (--by), and not both.")
    if truth is not None:
        if a is not None or payloads.files():
            raise typer.BadParameter(
                "The collections and their payload are for --by; true pairs are compared as they are written."
            )
        _against_pairs(links, truth, printing)
        return
    if a is None or b is None or by is None:
        raise typer.BadParameter("With --by, name the two collections too: veclink eval LINKS A B --by title.")
    left, right = opened(a, payloads.payload_a), opened(b, payloads.payload_b)
    _against_column(links, left, right, by, printing)


def _against_pairs(links: Path, truth: Path, printing: Printing) -> None:
    from veclink.cli.terminal import print_scores
    from veclink.data.pairs import read_pairs
    from veclink.data.scores import score

    # As text: what a CSV file holds as text, a Parquet file may hold as integers.
    columns = (read_pairs(file, empty_ids=True) for file in (links, truth))
    found, true = ({(str(a), str(b)) for a, b in zip(*pair, strict=True)} for pair in columns)
    if found and not {a for a, _ in found} & {a for a, _ in true}:
        raise InputError(f"{links} and {truth} have no value of a in common; give both in ids, or both in row numbers.")
    scores = score(list(found), list(true))
    counts = {"right": len(found & true), "found": len(found), "true": len(true)}
    printing.result({**asdict(scores), **counts}, lambda: print_scores(scores, **counts))


def _against_column(links: Path, left: Collection, right: Collection, column: str, printing: Printing) -> None:
    from veclink.cli.terminal import print_column_scores
    from veclink.data.agreement import score_by_column
    from veclink.uses.linked_pairs import pairs_of

    pairs, _ = pairs_of(links, left, right, force=True)
    found = score_by_column(column, pairs, left, right)
    printing.result(found.to_dict(), lambda: print_column_scores(found))
