"""A review's journal without its server: answers are written one after the other, and each that counts is noted."""

from __future__ import annotations

import os
from pathlib import Path

from small_papers import small_papers
from veclink.data.collection import Collection
from veclink.errors import InputError
from veclink.review.journal import Journal

ANSWERS = 12


def answer_all(folder: Path) -> None:
    """Give the answers that are not there yet; what the journal took is noted beside it, and only then."""
    with _opened(folder) as kept:
        for row in range(len(kept.answers()), ANSWERS):
            kept.add((row, row), "accept")
            noted = os.open(folder / "noted", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.write(noted, b".")
            os.close(noted)


def content(folder: Path) -> str:
    """How many answers there are, in their order, and whether one that was noted is missing."""
    if not (folder / "answers.sqlite").exists():
        raise InputError("The journal does not exist.")
    with _opened(folder) as kept:
        rows = [row for row, _ in kept.answers()]
    noted = (folder / "noted").stat().st_size if (folder / "noted").exists() else 0
    if rows != list(range(len(rows))) or len(rows) < noted:
        return f"lost: {noted} were noted, and there are {rows}"
    return "all answers" if len(rows) == ANSWERS else "a part of the answers"


def _opened(folder: Path) -> Journal:
    a, b, _ = small_papers()
    return Journal(folder / "answers.sqlite", Collection.from_array(a), Collection.from_array(b))
