"""Phrases that people had to read twice stay out of the pages and of every help."""

from __future__ import annotations

from pathlib import Path

import typer

from veclink.cli.app import app

ROOT = Path(__file__).parent.parent
RIDDLES = (
    "reckon",  # expect
    "surest",  # most certain
    "knock-out",  # decoy
    "come out as links again",  # were found again when held out
    "views agree on pairs for",  # the verdict and the estimates say it
    "to be cautious",  # conservative
    "links against the truth",  # score links against known pairs
    "carry vectors",  # translate
    "bring about",  # produce
    "say nothing of",  # cannot confirm
    "else all is",  # otherwise
    "what the method is told",  # options of the method
    "everything that is drawn",  # seed of the random generator
)


def test_what_had_to_be_read_twice_is_in_no_page_and_no_help() -> None:
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in pages}
    commands = vars(typer.main.get_command(app))["commands"]
    assert len(commands) >= 13
    for name, command in commands.items():
        helps = [getattr(each, "help", "") for each in (command, *getattr(command, "params", ()))]
        texts[f"veclink {name} --help"] = " ".join(filter(None, helps))
    found = {name: [each for each in RIDDLES if each in " ".join(text.lower().split())] for name, text in texts.items()}
    assert {name: riddles for name, riddles in found.items() if riddles} == {}
