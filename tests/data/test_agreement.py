"""In how many links the payload of both sides says the same, and what is said of it."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from held_columns import holding, numbered
from veclink.data.agreement import Agreement, agreement_of, agreement_of_titles, score_by_column
from veclink.data.summary import Summary
from veclink.errors import InputError


def test_agreement_counts_links_with_a_value_on_both_sides_and_no_seeds() -> None:
    a = holding(title=["One", "two", "three", None, "five"])
    b = holding(title=["one.", "TWO", "drei", "four", "five"])
    pairs = np.stack([np.arange(5)] * 2, axis=1)
    assert agreement_of(pairs, a, b) == Agreement("title", "title", 3, 4)
    told = agreement_of(pairs, a, b, given=np.array([True, False, False, False, False]))
    assert (told.agree, told.compared, told.seeds) == (2, 3, 1)
    assert told.sentence == "Titles agree in 2 of 3 links, seeds not counted."


def test_where_seeds_were_taken_by_title_it_is_said_how_many_other_titles_can_agree() -> None:
    a = holding(title=["one", "two", "three", "four", "five", "six"])
    b = holding(title=["one", "two", "drei", "vier", "fuenf", "sechs"])
    pairs = np.stack([np.arange(6)] * 2, axis=1)
    told = agreement_of(pairs, a, b, given=np.arange(6) < 2)
    assert (told.agree, told.compared, told.possible) == (0, 4, 0)
    assert told.sentence == "Titles say nothing of the other 4 links: all rows with equal titles were seeds."
    told = agreement_of(pairs, a, b, given=np.arange(6) < 1)
    assert told.sentence == "Titles agree in 1 of 5 links, seeds not counted; they can in 1 at most."
    assert Summary("span", 6, 6, 6, agreement=asdict(told)).agreement == told


def test_agreement_is_told_where_nothing_agrees_under_one_name_but_not_where_names_only_resemble() -> None:
    pairs = np.array([[0, 0], [1, 1]])
    a = holding(title=["x", "y"])
    assert agreement_of(pairs, a, holding(title=["u", "v"])).sentence == "Titles agree in 0 of 2 links."
    assert agreement_of(pairs, a, holding(name=["u", "v"])) is None
    assert (
        agreement_of(pairs, a, holding(name=["x", "v"])).sentence
        == "Values of 'title' and 'name' agree in 1 of 2 links."
    )
    assert agreement_of(pairs, a, holding(2)) is None and agreement_of(pairs[:0], a, a) is None


def test_titles_that_stand_in_other_links_say_that_the_payload_may_be_shuffled() -> None:
    pairs = np.stack([np.arange(20)] * 2, axis=1)
    a, shuffled = holding(name=numbered(20)), holding(title=[*numbered(20)[1:], numbered(20)[0]])
    told = agreement_of(pairs, a, shuffled)
    assert told.sentence.startswith("Values of 'name' and 'title' agree in 0 of 20 links. If they should (20 rows")
    assert "not in the order of the vectors" in told.note and asdict(told)["note"] == told.note
    titles = {"title_a": np.array(numbered(20)), "title_b": np.roll(numbered(20), 1)}
    assert "not in the order" in agreement_of_titles(titles, None).note, "also after another choice of links"


def test_titles_that_cannot_agree_or_agree_in_the_seeds_say_nothing_of_the_order() -> None:
    pairs = np.stack([np.arange(20)] * 2, axis=1)
    a = holding(title=numbered(20))
    other = [f"le {each}" for each in numbered(20)]
    assert agreement_of(pairs, a, holding(title=other)).sentence == "Titles agree in 0 of 20 links."
    assert agreement_of(pairs, a, holding(name=other)) is None
    half = holding(title=[*numbered(20)[:10], *numbered(20)[:9:-1]])
    assert agreement_of(pairs, a, half, given=np.arange(20) < 10).note == "", "the seeds were taken by title"


def test_links_are_scored_against_a_column() -> None:
    a, b = holding(title=numbered(10)), holding(title=numbered(10))
    pairs = np.array([[0, 0], [1, 1], [2, 2], [3, 4]])
    found = score_by_column("title", pairs, a, b)
    assert (found.scores.precision, found.scores.recall) == (0.75, 0.3)
    assert (found.agreement.agree, found.agreement.compared, found.linked, len(found.matches)) == (3, 4, 3, 10)
    with pytest.raises(InputError, match="name the column"):
        score_by_column("auto", pairs, a, holding(10))
