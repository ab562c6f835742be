"""Links of which more than half may be wrong are doubtful, and other links of the same run are judged anew."""

from __future__ import annotations

from dataclasses import replace

import pytest

from veclink.data.summary import DOUBTFUL, LINKABLE, NOT_LINKABLE, Summary, judged_anew
from veclink.data.words import Reason

BEFORE = Reason("few_shared")


def judged(verdict: str, *least: float) -> tuple[str, tuple[Reason, ...]]:
    """The verdict and its reasons, after links of which so many are right at least were judged one after another."""
    summary = Summary("span", 9, 9, 9, verdict=verdict, why=(BEFORE,))
    for each in least:
        summary = judged_anew(replace(summary, precision_range=(each, 1.0)))
    return summary.verdict, summary.why


@pytest.mark.parametrize(("least", "name"), [(0.39, DOUBTFUL), (0.41, LINKABLE)])
def test_links_of_which_more_than_half_may_be_wrong_are_doubtful(least: float, name: str) -> None:
    uncertain = (Reason("uncertain_precision", least=least),) if name == DOUBTFUL else ()
    assert judged(LINKABLE, least) == (name, (BEFORE, *uncertain))


@pytest.mark.parametrize("name", [DOUBTFUL, NOT_LINKABLE])
def test_a_worse_verdict_stays_as_it_is(name: str) -> None:
    assert judged(name, 0.1) == (name, (BEFORE,))


def test_surer_links_of_a_doubtful_run_are_not_doubtful_and_less_sure_ones_are_again() -> None:
    assert judged(LINKABLE, 0.3, 0.9) == (LINKABLE, (BEFORE,))
    assert judged(LINKABLE, 0.3, 0.2) == (DOUBTFUL, (BEFORE, Reason("uncertain_precision", least=0.2)))
