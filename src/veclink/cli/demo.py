"""veclink demo: the main job on the bundled sample."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from veclink.cli.shared import AsJson, Quiet, check_report, one_sentence_errors, print_json


def demo(
    report: Annotated[Path, typer.Option(help="Where the report goes: .html")] = Path("veclink-demo.html"),
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Link the bundled sample, 3,000 papers embedded by two models, check the result, and write a report of it."""
    with one_sentence_errors():
        from veclink.cli.demo_run import run_demo
        from veclink.cli.terminal import print_demo, showing_progress

        check_report(report)
        with showing_progress(quiet=quiet) as listener:
            result = run_demo(progress=listener, report=report)
        if as_json:
            shown = [asdict(each) for each in result.shown]
            told = {"scores": asdict(result.scores), "summary": result.links.summary.to_dict(), "links": shown}
            print_json({"report": str(report), **told})
        elif not quiet:
            print_demo(result)
