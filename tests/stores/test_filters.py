"""Conditions on the payload, as people write them."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from veclink.errors import InputError
from veclink.stores.urls import Condition, parse_condition, parse_url


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("year>=2020", Condition("year", ">=", 2020)),
        ("venue=ACL", Condition("venue", "=", "ACL")),
        ('title="2020"', Condition("title", "=", "2020")),
        ("open=true", Condition("open", "=", True)),
        ("a=b=c", Condition("a", "=", "b=c")),
        ("score<0.5", Condition("score", "<", 0.5)),
        ("x=null", Condition("x", "=", "null")),
        ('title="this or x=1"', Condition("title", "=", "this or x=1")),
        ("title=War and peace", Condition("title", "=", "War and peace")),
    ],
)
def test_filters_as_people_write_them(text: str, condition: Condition) -> None:
    assert parse_condition(text) == condition


@pytest.mark.parametrize("text", ["year", "", "open>true", "year>=100 or 1=1", "year>1 AND venue=ACL"])
def test_filters_without_a_sense_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="The filter"):
        parse_condition(text)


@pytest.mark.parametrize("condition", ["id<>1", "id!=1", "id==1", "id=>1"])
def test_a_comparison_that_is_not_known_is_refused_and_not_taken_for_another(condition: str) -> None:
    with pytest.raises(InputError, match="no known comparison"):
        parse_url(f"sqlite:///papers.db?where={quote(condition)}#papers")
