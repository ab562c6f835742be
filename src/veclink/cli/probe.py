"""veclink probe: look at two collections before linking them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from veclink.cli.shared import (
    NO_TRUSTED_LINKS,
    Device,
    Payloads,
    Printing,
    RandomState,
    SeedsFile,
    check_report,
    command,
    opened,
)
from veclink.errors import without_secrets


@dataclass(frozen=True)
class Written(Payloads):
    """What is written, and what names the objects."""

    report: Annotated[Path | None, typer.Option(help="Write a page to look at, too: .html")] = None


@command
def probe(
    a: Annotated[str, typer.Argument(metavar="A", help="Vectors: a file, or a store's URL.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Vectors of another model, in the same formats.")],
    printing: Printing,
    written: Written,
    seeds: SeedsFile = None,
    forecast: Annotated[
        bool, typer.Option("--forecast/--no-forecast", help="Link a part of them to forecast precision, recall, time.")
    ] = True,
    device: Device = "auto",
    random_state: RandomState = 0,
) -> None:
    """Say whether A and B can be linked, what may be in the way, and what linking them will give.

    veclink link gives the verdict too, with the links: look first where linking takes long, or where it did not work.
    """
    from veclink.cli.probe_printing import print_probe
    from veclink.probing import probe as look

    report = written.report
    check_report(report, a, b, *([str(seeds)] if seeds else []), *written.files())
    with printing.progress() as listener:
        left, right = opened(a, written.payload_a), opened(b, written.payload_b)
        found = look(
            left,
            right,
            seeds=seeds,
            forecast=forecast,
            device=device,
            random_state=random_state,
            progress=listener,
        )
    if report is not None:
        from veclink.report import save_probe

        save_probe(report, found)
    page = {} if report is None else {"report": str(report)}
    given = [*written.options(), *([] if seeds is None else ["--seeds", str(seeds)])]
    both = [without_secrets(a), without_secrets(b)]
    step = shlex.join(["veclink", "link", *both, *given, "-o", "links.parquet", "--report", "links.html"])
    printing.result(found.to_dict() | page, lambda: print_probe(found, step, **page))
    if found.verdict == "not linkable":
        raise typer.Exit(NO_TRUSTED_LINKS)
