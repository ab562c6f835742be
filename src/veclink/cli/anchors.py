"""veclink anchors: embed some texts with both models, to link from them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veclink.cli.shared import Printing, check_output, command

MODEL = (
    "a sentence-transformers model, by name or folder; or command:PROGRAM, which reads texts, one a line, and prints "
    "a vector for each, as JSON lines or .npy."
)


@command
def anchors(
    model_a: Annotated[str, typer.Option(metavar="MODEL", help=f"The model that made A: {MODEL}")],
    model_b: Annotated[str, typer.Option(metavar="MODEL", help="The model that made B, in the same way.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="NAME", help="Writes NAME-a.npy and NAME-b.npy.")],
    printing: Printing,
    texts: Annotated[
        Path | None,
        typer.Argument(metavar="TEXTS", help="Texts like those of A and B, one a line; else 300 plain sentences."),
    ] = None,
) -> None:
    """Embed texts with both models, as anchors to link A and B from: link --anchors NAME-a.npy NAME-b.npy."""
    from veclink import sample
    from veclink.uses.text_anchors import anchor_files, embed, read_texts, write_anchors

    source = texts or sample.SENTENCES
    for path in anchor_files(output):
        check_output(path, str(source), what="anchors", endings=(".npy",))
    listed = read_texts(source)
    left, right = embed(listed, model_a), embed(listed, model_b)
    of_a, of_b = write_anchors(output, left, right)
    told = {
        "texts": len(listed),
        "bundled": texts is None,
        "a": str(of_a),
        "b": str(of_b),
        "dimension_a": left.shape[1],
        "dimension_b": right.shape[1],
    }
    printing.result(told, lambda: _print(len(listed), texts is None, (of_a, of_b), (left.shape[1], right.shape[1])))


def _print(count: int, bundled: bool, files: tuple[Path, Path], dimensions: tuple[int, int]) -> None:
    kind = "plain sentences that come with veclink" if bundled else "texts"
    typer.echo(f"{count:,} {kind}, embedded in {dimensions[0]:,} and {dimensions[1]:,} dimensions.")
    typer.echo(f"Written to {files[0]} and {files[1]}. Next:")
    typer.echo(f"  veclink link A B --anchors {files[0]} {files[1]} -o links.csv")
