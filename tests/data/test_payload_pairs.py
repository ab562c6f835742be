"""Rows whose payload says the same: what counts as equal, which columns are compared, and what is said of it."""

from __future__ import annotations

import pytest

from held_columns import holding
from veclink.data.agreement import (
    comparable_columns,
    match_column,
    normalised,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Attention  Is All\tYou Need", "attention is all you need."),
        ("ﬁne‐tuning BERT: a study", "Fine-Tuning BERT — A Study!"),
        ("Ｆｕｌｌ ｗｉｄｔｈ", "full width"),
        ("Straße", "STRASSE"),
        ("cafe\u0301", "café"),
        ("zero\u200bwidth", "zerowidth"),
        (978, "978"),
    ],
)
def test_what_differs_only_in_form_is_equal(one: object, other: object) -> None:
    assert normalised(one) == normalised(other) != ""


@pytest.mark.parametrize(("one", "other"), [("12-3", "1-23"), ("C++", "C"), ("हिन्दी", "हन्द"), ("10.1/ab", "10.1/ac")])
def test_what_differs_in_content_stays_different(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


@pytest.mark.parametrize("nothing", [None, "", "  ", "—…!"])
def test_what_says_nothing_is_no_value(nothing: str | None) -> None:
    assert normalised(nothing) == ""


def test_only_values_that_are_unique_on_both_sides_make_pairs() -> None:
    a = holding(title=["Twice", "once", None, "twice", "Alone", "shared"])
    b = holding(title=["shared!", "once", "ONCE", "", "Shared?", "alone"])
    found = match_column("title", a, b)
    assert found.pairs.tolist() == [[4, 5]] and found.name == "titles"


def test_columns_are_compared_by_names_that_mean_the_same_and_never_numbers_that_only_count() -> None:
    a = holding(year=[1, 2], Doc_Title=["x", "y"], headline=["x", "y"], score=[0.5, 0.1], url=["u", "v"])
    b = holding(year=[1, 2], title=["x", "y"], headline=["x", "y"], href=["u", "v"])
    assert comparable_columns(a, b) == [("headline", "headline"), ("url", "href"), ("headline", "title")]
