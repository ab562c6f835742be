"""veclink compare: what changed between two sets of links."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veclink.cli.shared import Printing, check_output, check_report, command


@command
def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="Links, as `veclink link` wrote them.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Later links of the same collections.")],
    printing: Printing,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Every row of A that is linked in either: .csv or .parquet")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page to look at, too: .html")] = None,
) -> None:
    """Say what changed between two sets of links: which rows of A gained, lost or changed their partner."""
    from veclink.data.changes import changes, sentence
    from veclink.data.links import Links
    from veclink.files.tables import write_table

    if output is not None:
        check_output(output, str(before), str(after), what="changes")
    check_report(report, str(before), str(after))
    found = changes(Links.load(before), Links.load(after))
    if output is not None:
        write_table(output, found.columns())
    if report is not None:
        from veclink.report.changes_page import save_changes

        save_changes(report, found, before.name, after.name)
    written = {"output": output, "report": report}
    files = {name: str(path) for name, path in written.items() if path is not None}
    counts = found.counts()
    printing.result({**counts, **files}, lambda: typer.echo("\n".join([sentence(counts), *_places(files)])))


def _places(files: dict[str, str]) -> list[str]:
    return [f"Written to {path}." for path in files.values()]
