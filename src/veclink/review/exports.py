"""The answers as CSV, for `veclink eval`, for `veclink link --seeds`, and for other programs."""

from __future__ import annotations

from typing import Any

from veclink.files.tables import csv_text
from veclink.review.journal import Journal, Pair
from veclink.review.session import Review


def truth(review: Review) -> str:
    """The accepted pairs, columns a,b."""
    return csv_text(("a", "b"), (_names(review.journal, pair) for pair in review.accepted()))


def seeds(review: Review) -> str:
    """The pairs that linking again would begin with, columns a,b."""
    return csv_text(("a", "b"), (_names(review.journal, pair) for pair in review.seed_pairs()[0]))


def decisions(review: Review) -> str:
    """Every standing answer, and the rivals that were taken instead, columns a,b,answer."""
    answers = review.answers()
    rows = [(*_names(review.journal, each.pair), each.answer) for each in answers]
    taken = [(*_names(review.journal, each.instead), "accept") for each in answers if each.instead is not None]
    return csv_text(("a", "b", "answer"), [*rows, *taken])


def _names(journal: Journal, pair: Pair) -> tuple[Any, Any]:
    return journal.name(0, pair[0]), journal.name(1, pair[1])
