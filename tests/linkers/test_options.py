"""Options: wrong ones are named in a sentence, and every part of span linking can be taken away by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from small_papers import small_papers
from span_papers import linked_cut, some_papers
from veclink.data.pairs import score
from veclink.errors import InputError
from veclink.linkers.linking import link
from veclink.linkers.options import GehOptions, GrowthSchedule, SpanOptions, options_of


@pytest.mark.parametrize(
    ("kind", "wrong", "sentence"),
    [
        (SpanOptions, {"one_to_one": 3}, "The option one_to_one is 3; it is True or False."),
        (SpanOptions, {"k": 0}, "The option k is 0; it is a whole number from 1."),
        (SpanOptions, {"k": True}, "The option k is True; it is a whole number from 1."),
        (SpanOptions, {"ridge": -1.0}, "The option ridge is -1.0; it is a number at least 0."),
        (SpanOptions, {"signature": "hash"}, "The option signature is 'hash'; it is one of 'span', 'kernel'."),
        (SpanOptions, {"schedule": "fast"}, "The option schedule is 'fast'; give a GrowthSchedule."),
        (SpanOptions, {"signature": "kernel"}, "set fallbacks=False too."),
        (GrowthSchedule, {"votes": 1.5}, "The option votes is 1.5; it is a number at least 0 and at most 1."),
        (GrowthSchedule, {"factor": float("nan")}, "The option factor is nan; it is a number at least 1."),
        (GehOptions, {"share": 0}, "The option share is 0; it is a number more than 0 and at most 1."),
        (GehOptions, {"growth": "0.3"}, "The option growth is '0.3'; it is a number at least 0."),
        (GehOptions, {"path": "nearby"}, "The option path is 'nearby'; it is one of 'auto', 'global', 'local'."),
    ],
)
def test_a_wrong_option_is_named_with_what_it_can_be(kind: type, wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        kind(**wrong)
    assert str(refused.value).endswith(sentence)


def test_options_come_as_an_object_or_by_name_and_not_both() -> None:
    assert options_of("span", None, {"one_to_one": False}) == SpanOptions(one_to_one=False)
    assert options_of("geh", GehOptions(k=7), {}) == GehOptions(k=7)
    with pytest.raises(InputError, match="as an object and by name"):
        options_of("span", SpanOptions(), {"k": 5})
    with pytest.raises(InputError, match="are SpanOptions, and not GehOptions"):
        options_of("span", GehOptions(), {})
    with pytest.raises(InputError, match=r"at\(precision=0.95\)"):
        options_of("span", None, {"precision": 0.9})


def test_what_was_told_is_noted_in_the_links_whichever_way_it_was_told() -> None:
    a, b, truth = small_papers()
    by_name = link(a, b, seeds=truth[:15], k=7, device="cpu")
    as_object = link(a, b, seeds=truth[:15], options=SpanOptions(k=7), device="cpu")
    assert by_name.options == {"random_state": 0, "k": 7}
    assert as_object == by_name


@pytest.mark.parametrize(
    ("options", "least"),
    [
        ({"signature": "kernel", "fallbacks": False}, 0.9),
        ({"centred": False}, 0.9),
        ({"out_of_bag": False}, 0.9),
        ({"schedule": GrowthSchedule(views=1, votes=0.0)}, 0.85),
        ({"schedule": GrowthSchedule(rounds=1), "fallbacks": False}, 0.6),
        ({"crossfitted": False}, 0.85),
        ({"ridge": 1.0, "k": 5}, 0.9),
    ],
)
def test_a_part_that_is_taken_away_changes_the_links_and_leaves_most_right(
    options: dict[str, Any], least: float
) -> None:
    papers = some_papers()
    links = link(papers.a, papers.b, seeds=papers.seeds, device="cpu", **options)
    assert score(links.pairs, papers.truth).f1 > least
    assert not np.array_equal(links.probability, linked_cut().probability)
