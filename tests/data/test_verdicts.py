"""Links of which more than half may be wrong are doubtful, and other links of the same run are judged anew."""

from __future__ import annotations

import pytest

from veclink.data.no_links import causes_from_pairs, next_from_given
from veclink.data.summary import DOUBTFUL, LINKABLE, NOT_LINKABLE, heeding_range

REASONS = ("About so many.",)


@pytest.mark.parametrize(("least", "name"), [(0.39, DOUBTFUL), (0.41, LINKABLE)])
def test_links_of_which_more_than_half_may_be_wrong_are_doubtful(least: float, name: str) -> None:
    verdict, reasons = heeding_range(LINKABLE, REASONS, least)
    assert verdict == name and reasons[0] == REASONS[0]
    assert any(f"{least:.0%}" in reason for reason in reasons) == (name == DOUBTFUL)


@pytest.mark.parametrize("name", [DOUBTFUL, NOT_LINKABLE])
def test_a_worse_verdict_stays_as_it_is(name: str) -> None:
    assert heeding_range(name, REASONS, 0.1) == (name, REASONS)


def test_surer_links_of_a_doubtful_run_are_not_doubtful_and_less_sure_ones_are_again() -> None:
    doubtful = heeding_range(LINKABLE, REASONS, 0.3)
    assert heeding_range(*doubtful, 0.9) == (LINKABLE, REASONS)
    again = heeding_range(*doubtful, 0.2)
    assert again[0] == DOUBTFUL and len(again[1]) == 2 and "20%" in again[1][1]


@pytest.mark.parametrize("given", [10, 14, 15, 60])
def test_no_right_pair_is_called_wrong_where_pairs_are_missing(given: int) -> None:
    assert "wrong" not in causes_from_pairs(other=False)
    coming = next_from_given(given, outside=False, by_column=False)
    assert "leave out" not in coming and "wrong" not in coming
