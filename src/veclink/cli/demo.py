"""veclink demo: the main job on the bundled sample."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from veclink.cli.shared import Printing, check_report, command


@command
def demo(
    printing: Printing,
    report: Annotated[Path, typer.Option(help="Where the report goes: .html")] = Path("veclink-demo.html"),
) -> None:
    """Link the bundled sample, 3,000 papers embedded by two models, check the result, and write a report of it."""
    from veclink.cli.demo_run import run_demo
    from veclink.cli.terminal import print_demo
    from veclink.confidence.threshold import thresholds

    check_report(report)
    with printing.progress() as listener:
        result = run_demo(progress=listener, report=report)
    shown = [asdict(each) for each in result.shown]
    told = {
        "scores": asdict(result.scores),
        "summary": result.links.summary.to_dict(),
        "thresholds": [asdict(line) for line in thresholds(result.links)],
        "links": shown,
    }
    printing.result({"report": str(report), **told}, lambda: print_demo(result))
