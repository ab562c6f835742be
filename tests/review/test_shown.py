"""What a person is told of the difference between two payloads."""

from __future__ import annotations

import pytest

from veclink.review import shown


def of(payload: dict[str, str | None], headline: str = "") -> dict[str, object]:
    return {"payload": payload, "headline": headline}


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ({}, {}, "These collections have no payload: the ids are all there is to see."),
        ({"x": "1"}, {"y": "1"}, "No field is filled on both sides."),
        ({"x": "1"}, {"x": None}, "No field is filled on both sides."),
        ({"x": "1", "y": "2"}, {"x": "1"}, "x is the same on both sides."),
        ({"x": "1", "y": "2"}, {"x": "1", "y": "2"}, "All 2 fields are the same on both sides."),
        ({"x": "1", "y": "2", "z": "3"}, {"x": "2", "y": "2", "z": "4"}, "Different: x, z."),
        ({"x": "1", "y": "2"}, {"x": "2", "y": "1"}, "No field is the same on both sides."),
    ],
)
def test_one_line_says_what_need_not_be_compared(a: dict[str, str | None], b: dict[str, str | None], said: str) -> None:
    assert shown.compared(shown.fields(of(a), of(b))) == said


def test_the_field_that_both_are_called_by_comes_first_and_the_others_in_the_order_of_a_then_b() -> None:
    rows = shown.fields(of({"year": "1", "title": "T"}, "T"), of({"pages": "9", "title": "U", "year": "1"}, "U"))
    assert [(row["name"], row["headline"]) for row in rows] == [("title", True), ("year", False), ("pages", False)]
    assert (rows[2]["a"], rows[2]["b"]) == (None, "9")


@pytest.mark.parametrize(
    ("own", "other", "marked"),
    [
        ("A study of words", "a Study, of: things", ["words"]),
        ("the same", "the same", []),
        ("only here", None, []),
        ("only here", "", []),
        ("dash – here", "here", ["dash"]),
        ("Über 12 Größen", "über 13 größen", ["12"]),
        ("深度 学习", "深度", ["学习"]),
    ],
)
def test_words_that_the_other_side_does_not_have_are_marked_and_no_character_is_lost(
    own: str, other: str | None, marked: list[str]
) -> None:
    pieces = shown.differing(own, other)
    assert "".join(text for text, _ in pieces) == own
    assert [text for text, unlike in pieces if unlike] == marked


def test_line_ends_and_runs_of_spaces_stay_as_they_are() -> None:
    assert "".join(text for text, _ in shown.differing(" one\n\n two\t", "three")) == " one\n\n two\t"
