"""In how many links the payload of both sides says the same, and what is said of it."""

from __future__ import annotations

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


def test_of_few_equal_titles_it_says_how_many_could_agree_and_how_alike_the_others_are() -> None:
    rows = range(40)
    a = holding(title=[f"Sony camera model {row} black" for row in rows])
    b = holding(title=[f"camera {row}, model by Sony" for row in rows])
    pairs = np.stack([np.arange(40)] * 2, axis=1)
    told = agreement_of(pairs, a, b, precision=0.9)
    assert (told.agree, told.can_agree, told.note) == (0, 0, "")
    assert told.alike == pytest.approx(4 / 6) and told.by_chance == pytest.approx(3 / 7)
    expected = "No two titles are equal, so they cannot confirm links. Linked titles have 67 % of their words in common"
    assert told.sentence == f"{expected}, random pairs 43 %."
    same = [*a.payload.column("title").to_pylist()[:5], *b.payload.column("title").to_pylist()[5:]]
    assert agreement_of(pairs, a, holding(title=same)).sentence.startswith("Titles agree in 5 of 5 links in which they")
    given = np.arange(40) < 5
    told = agreement_of(pairs, a, holding(title=same), given=given)
    assert told.sentence.startswith("Besides the seeds, no two titles are equal")
    told = agreement_of(pairs[5:], a, holding(title=same))
    assert told.can_agree is None and told.sentence.startswith("Titles agree in 0 of 35 links."), "some are unlinked"


def test_an_agreement_that_an_earlier_version_wrote_is_read() -> None:
    told = {"column_a": "title", "column_b": "title", "agree": 3, "compared": 9, "seeds": 2, "possible": 4, "note": ""}
    values = {"method": "span", "n_a": 9, "n_b": 9, "n_links": 9, "agreement": told}
    assert Summary.from_dict(values).agreement == Agreement("title", "title", 3, 9, 2)


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
