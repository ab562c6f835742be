"""veclink report: the page about links that were found before."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veclink.cli.shared import Force, Payloads, Printing, check_report, command, note_short_columns, opened


@command
def report(
    links: Annotated[Path, typer.Argument(metavar="LINKS", help="The links, as `veclink link` wrote them.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the page goes: .html")],
    payloads: Payloads,
    printing: Printing,
    a: Annotated[str | None, typer.Argument(metavar="A", help="The linked collections: for titles and a map.")] = None,
    b: Annotated[str | None, typer.Argument(metavar="B", help="The second one.")] = None,
    truth: Annotated[Path | None, typer.Option(help="The true pairs, where they are known: columns a,b.")] = None,
    force: Force = False,
) -> None:
    """Write the page that says whether to trust the links, and shows why: one HTML file, no server, no network."""
    from veclink.data.links import Links
    from veclink.report import save_report

    if (a is None) != (b is None):
        raise typer.BadParameter("Name both collections, or neither: veclink report LINKS A B -o links.html.")
    if truth is not None and a is None:
        raise typer.BadParameter("True pairs are looked up in the two collections; name them: LINKS A B.")
    given = [each for each in (a, b, str(links), truth, *payloads.files()) if each is not None]
    check_report(output, *map(str, given))
    found = Links.load(links)
    if not printing.quiet:
        note_short_columns(found, links)
    left = None if a is None else opened(a, payloads.payload_a)
    right = None if b is None else opened(b, payloads.payload_b)
    save_report(output, found, left, right, truth=truth, force=force)
    told = {"report": str(output), "links": len(found), "verdict": found.summary.verdict}
    printing.result(told, lambda: typer.echo(f"The report is {output}; open it in a browser."))
