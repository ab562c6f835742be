"""In how many links the payload of both sides says the same, and what is said of it."""

from __future__ import annotations

import numpy as np
import pytest

from held_columns import holding, numbered
from veclink.data.agreement import Agreement, agreement_of, agreement_of_titles, score_by_column
from veclink.errors import InputError


def test_agreement_counts_links_with_a_value_on_both_sides_and_no_seeds() -> None:
    a = holding(title=["One", "two", "three", None, "five"])
    b = holding(title=["one.", "TWO", "drei", "four", "five"])
    pairs = np.stack([np.arange(5)] * 2, axis=1)
    assert agreement_of(pairs, a, b) == Agreement("title", "title", 3, 4)
    told = agreement_of(pairs, a, b, given=np.array([True, False, False, False, False]))
    assert (told.agree, told.compared, told.seeds) == (2, 3, 1)
    assert told.sentence == "Titles agree in 2 of 3 links, seeds not counted."


def test_a_payload_of_which_a_part_is_displaced_is_told_of_and_titles_in_other_words_are_not() -> None:
    pairs = np.stack([np.arange(60)] * 2, axis=1)
    titles = numbered(60)
    a, half = holding(title=titles), [*titles[:30], *np.roll(titles[30:], 1)]
    told = agreement_of(pairs, a, holding(title=half), precision=0.9)
    assert (told.agree, told.compared) == (30, 60) and "30 lead to another row, and about 90 of 100 should" in told.note
    assert told.sentence.startswith("Titles agree in 30 of 60 links. Of 60 links of rows whose value")
    by_links = agreement_of_titles({"title_a": np.array(titles), "title_b": np.array(half)}, None, 0.9)
    assert by_links.note == told.note, "also after another choice of links"
    reworded = [*titles[:30], *(f"on {each}" for each in titles[30:])]
    assert agreement_of(pairs, a, holding(title=reworded), precision=0.9).note == ""
    assert agreement_of(pairs, a, holding(title=half), precision=0.55).note == "", "no more was promised"
    mostly = [*(f"on {each}" for each in titles[:40]), *np.roll(titles[40:], 1)]
    some_agree = [*titles[:8], *mostly[8:]]
    assert agreement_of(pairs, a, holding(title=some_agree), precision=0.9).note == "", "most are worded otherwise"
    series = [*titles[:30], *["series"] * 30], [*titles[:30], *["series"] * 15, *["another"] * 15]
    told = agreement_of(pairs, *(holding(title=each) for each in series), precision=0.9)
    assert (told.agree, told.note) == (45, ""), "what stands in many rows says nothing of a single one"


def test_links_are_scored_against_a_column() -> None:
    a, b = holding(title=numbered(10)), holding(title=numbered(10))
    pairs = np.array([[0, 0], [1, 1], [2, 2], [3, 4]])
    found = score_by_column("title", pairs, a, b)
    assert (found.scores.precision, found.scores.recall) == (0.75, 0.3)
    assert (found.agreement.agree, found.agreement.compared, found.linked, len(found.matches)) == (3, 4, 3, 10)
    with pytest.raises(InputError, match="name the column"):
        score_by_column("auto", pairs, a, holding(10))
