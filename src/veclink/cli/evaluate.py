"""veclink eval: hold links against the truth."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from veclink.cli.shared import AsJson, Printing, command
from veclink.errors import InputError


@command
def evaluate(
    links: Annotated[Path, typer.Argument(metavar="LINKS", help="Links, or any pairs: CSV or Parquet, columns a,b.")],
    truth: Annotated[Path, typer.Option(help="The true pairs, in the same terms: CSV or Parquet, columns a,b.")],
    as_json: AsJson = False,
) -> None:
    """Say how right the links are: precision, recall and F1 against known pairs."""
    from veclink.cli.terminal import print_scores
    from veclink.data.pairs import read_pairs
    from veclink.data.scores import score

    # As text: what a CSV file holds as text, a Parquet file may hold as integers.
    found, true = ({(str(a), str(b)) for a, b in zip(*read_pairs(file), strict=True)} for file in (links, truth))
    if found and not {a for a, _ in found} & {a for a, _ in true}:
        raise InputError(f"{links} and {truth} have no value of a in common; give both in ids, or both in row numbers.")
    scores = score(list(found), list(true))
    counts = {"right": len(found & true), "found": len(found), "true": len(true)}
    Printing(as_json).result({**asdict(scores), **counts}, lambda: print_scores(scores, **counts))
