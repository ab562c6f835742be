"""veclink probe: look at two collections before linking them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veclink.cli.shared import NOT_LINKABLE, AsJson, Quiet, check_choice, check_report, one_sentence_errors, print_json


def probe(
    a: Annotated[str, typer.Argument(metavar="A", help="Vectors: .npy .npz .parquet .safetensors .jsonl")],
    b: Annotated[str, typer.Argument(metavar="B", help="Vectors of another model, in the same formats.")],
    seeds: Annotated[
        Path | None, typer.Option(help="Known pairs, CSV or Parquet with columns a,b: ids, or rows without ids.")
    ] = None,
    forecast: Annotated[
        bool, typer.Option("--forecast/--no-forecast", help="Link a part of them to forecast precision, recall, time.")
    ] = True,
    report: Annotated[Path | None, typer.Option(help="Write a page to look at, too: .html")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    random_state: Annotated[int, typer.Option(min=0, help="The same number gives the same forecast.")] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say whether A and B can be linked, what may be in the way, and what linking them will give."""
    with one_sentence_errors():
        from veclink.cli.probe_printing import print_probe
        from veclink.cli.terminal import showing_progress
        from veclink.linkers.linking import DEVICES
        from veclink.probing import probe as look

        check_choice("--device", device, DEVICES)
        check_report(report, a, b, *([str(seeds)] if seeds else []))
        with showing_progress(quiet=quiet) as listener:
            found = look(
                a, b, seeds=seeds, forecast=forecast, device=device, random_state=random_state, progress=listener
            )
        if report is not None:
            from veclink.report.probe_page import save_probe

            save_probe(report, found)
        if as_json:
            print_json(found.to_dict() | ({} if report is None else {"report": str(report)}))
        elif not quiet:
            print_probe(found)
            if report is not None:
                typer.echo(f"The page is {report}; open it in a browser.")
    if found.verdict == "not linkable":
        raise typer.Exit(NOT_LINKABLE)
