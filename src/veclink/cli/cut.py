"""veclink cut: move the threshold of links that were written before."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from veclink.cli.shared import NO_TRUSTED_LINKS, Columns, Printing, check_columns, check_output, command
from veclink.cli.summarised import summary_values, warn_of_payload
from veclink.errors import plural

UNCALIBRATED = (
    "No precision is estimated: the probabilities of --method geh are shares of votes and are not calibrated. Check "
    "some of the links by eye (veclink review), or link with --method span, which estimates it."
)


@dataclass(frozen=True)
class Wanted:
    """Which links are wanted; one of the three."""

    precision: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0.0,
            max=1.0,
            help="The surest, as many as are together right to this share, by a cautious estimate: each wrong link "
            "that the probabilities expect counts as several, one to five (`caution` with --json).",
        ),
    ] = None
    probability: Annotated[
        float | None,
        typer.Option(metavar="P", min=0.0, max=1.0, help="Each that is at least this probable by itself."),
    ] = None
    links: Annotated[int | None, typer.Option(metavar="N", min=0, help="The N surest.")] = None


@command
def cut(
    source: Annotated[Path, typer.Argument(metavar="LINKS", help="Links, as veclink link wrote them.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the chosen ones go: .csv or .parquet")],
    wanted: Wanted,
    printing: Printing,
    columns: Columns = None,
) -> None:
    """Choose other links among all judged pairs: more of them, or fewer. Nothing is linked again.

    A Parquet file of links holds all judged pairs; a CSV file holds the links alone, which can only become fewer. Exit
    code 3 says, as of link, that there are no trustworthy links.
    """
    from veclink.cli.terminal import caution_in_words, estimates_in_words
    from veclink.data.doubt import NOT_LINKABLE
    from veclink.data.links import Links
    from veclink.data.links_files import check_beside

    given = {name: value for name, value in asdict(wanted).items() if value is not None}
    if len(given) != 1:
        raise typer.BadParameter("give one of --precision, --probability and --links.")
    check_output(output, str(source))
    check_columns(columns, output)
    check_beside(output)
    loaded = Links.load(source)
    chosen = loaded.at(**given)
    agreement = chosen.agreement()
    chosen = replace(chosen, summary=replace(chosen.summary, agreement=agreement))
    if chosen.summary.verdict == NOT_LINKABLE:
        chosen = chosen.none()
    chosen.save(output, columns)
    judged = len(loaded) if loaded.considered is None else len(loaded.considered)
    told = {"output": str(output), "judged": judged, "before": len(loaded), **summary_values(chosen.summary)}
    counted = f"{plural(len(chosen), 'link')} of {plural(judged, 'judged pair')} ({len(loaded):,} before)"
    lines = [f"{counted}, written to {output}."]
    told_first = [estimates_in_words(chosen.summary), "" if agreement is None else agreement.sentence]
    lines = [*filter(None, told_first), *lines]
    if judged and not chosen.summary.is_calibrated:
        lines.append(UNCALIBRATED)
    elif wanted.precision is not None and judged:
        lines += filter(None, [caution_in_words(chosen.summary.caution)])
    if not judged:
        summary = loaded.summary
        said = " ".join([f"the verdict is “{summary.verdict}”.", *summary.reasons])
        lines = [f"{source} holds no pairs to choose from; {said}", f"An empty file was written to {output}."]
    elif source.suffix.lower() == ".csv":
        lines.append(f"{source} holds links only: a larger choice needs the Parquet file of the run.")
    warn_of_payload(chosen.summary, printing)
    printing.result(told, lambda: typer.echo("\n".join(lines)))
    if not judged or chosen.summary.verdict == NOT_LINKABLE:
        raise typer.Exit(NO_TRUSTED_LINKS)
