"""veclink demo: the main job on the bundled sample."""

from __future__ import annotations

from dataclasses import asdict

from veclink.commands.shared import AsJson, Quiet, one_sentence_errors, print_json


def demo(as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Link the bundled sample, 3,000 papers embedded by two models, and check the result."""
    with one_sentence_errors():
        from veclink.demo import run_demo
        from veclink.terminal import print_demo, showing_progress

        with showing_progress(quiet=quiet) as listener:
            result = run_demo(progress=listener)
        if as_json:
            shown = [asdict(each) for each in result.shown]
            print_json({"scores": asdict(result.scores), "summary": result.links.summary.to_dict(), "links": shown})
        elif not quiet:
            print_demo(result)
