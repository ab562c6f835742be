"""What commands that make links tell of their summary, to programs and to people who asked for no summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veclink.cli.shared import Printing, print_warning

if TYPE_CHECKING:
    from veclink.data.summary import Summary


def summary_values(summary: Summary) -> dict[str, Any]:
    """The summary as every command prints it with --json: its own values, and the verdict as a person reads it."""
    return {**summary.to_dict(), "verdict_in_words": summary.verdict_in_words}


def warn_of_payload(summary: Summary, printing: Printing) -> None:
    """Say on stderr that the payload does not fit the vectors, where no summary is printed that says it."""
    agreement = summary.agreement
    if agreement is not None and agreement.note and (printing.quiet or printing.as_json):
        print_warning(agreement.sentence)
