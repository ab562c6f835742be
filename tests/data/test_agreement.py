"""In how many links the payload of both sides says the same, and what is said of it."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from held_columns import holding, numbered
from veclink.data.agreement import Agreement, agreement_of, agreement_of_titles, score_by_column
from veclink.data.summary import Summary
from veclink.data.titles import clipped
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


def test_titles_that_were_shortened_agree_as_far_as_they_go() -> None:
    long = [f"{i} " + "a common beginning, " * 12 for i in range(3)]
    left = [clipped(each) for each in (*long, "short", "to be continued…")]
    right = [clipped(each) for each in (long[0].replace(",", " -"), long[1].upper(), long[1], long[2], "to be")]
    told = agreement_of_titles({"title_a": np.array(left), "title_b": np.array(right)}, None)
    assert told is None, "fewer agree than not"
    some = {"title_a": np.array(left[:3]), "title_b": np.array(right[:3])}
    assert agreement_of_titles(some, None) == Agreement("title", "title", 2, 3)


def test_a_displaced_part_is_told_of_by_titles_that_were_shortened_too() -> None:
    long = [clipped(f"{'xyz'[i % 3] * i} {i} " + "a common beginning, " * 12) for i in range(60)]
    titles = {"title_a": np.array(long), "title_b": np.array([*long[:30], *np.roll(long[30:], 1)])}
    assert "30 lead to another row" in agreement_of_titles(titles, None, 0.9).note


def test_links_are_scored_against_a_column() -> None:
    a, b = holding(title=numbered(10)), holding(title=numbered(10))
    pairs = np.array([[0, 0], [1, 1], [2, 2], [3, 4]])
    found = score_by_column("title", pairs, a, b)
    assert (found.scores.precision, found.scores.recall) == (0.75, 0.3)
    assert (found.agreement.agree, found.agreement.compared, found.linked, len(found.matches)) == (3, 4, 3, 10)
    with pytest.raises(InputError, match="name the column"):
        score_by_column("auto", pairs, a, holding(10))
