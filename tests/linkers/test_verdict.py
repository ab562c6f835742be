"""The verdict on links from nothing: what the views agree on has to be borne out by what seems to be shared."""

from __future__ import annotations

import numpy as np
import pytest

from veclink.data.words import FROM_NOTHING, Reason
from veclink.linkers.span.growing import Pool
from veclink.linkers.span.starts import Bootstrap
from veclink.linkers.verdict import (
    DOUBTFUL,
    LINKABLE,
    NOT_LINKABLE,
    SeedCheck,
    Verdict,
    span_verdict,
)

ROWS = 1000
NO_SEEDS = SeedCheck(0, None, np.empty(0))

# Share that the views agree on, share that seems to be in both, and what is said of it without seeds in 384 dimensions.
CASES = (
    (0.92, 0.94, LINKABLE),  # all of 360 rows among 3,600, as it should be
    (0.92, 0.17, DOUBTFUL),  # the same where the estimate had lost most of the links
    (0.92, 0.29, LINKABLE),
    (0.92, 0.26, DOUBTFUL),
    (0.40, 0.26, LINKABLE),  # 15 % of the objects shared
    (0.40, 0.13, LINKABLE),
    (0.40, 0.125, DOUBTFUL),
    (0.30, 0.09, DOUBTFUL),
    (0.30, 0.08, NOT_LINKABLE),
    (0.92, 0.08, NOT_LINKABLE),
)


def _said(share: float, shared: float, start: str = FROM_NOTHING, seeds: SeedCheck = NO_SEEDS) -> Verdict:
    pool = Pool(np.empty((0, 2), np.int64), np.empty(0), np.empty(0), extent=ROWS)
    bootstrap = Bootstrap(pool, start, share, np.empty(0, np.int64))
    return span_verdict(bootstrap, shared * ROWS, smaller=ROWS, dimension=384, seeds=seeds)


def test_from_nothing_what_the_views_agree_on_has_to_be_borne_out() -> None:
    assert [_said(share, shared).name for share, shared, _ in CASES] == [name for _, _, name in CASES]


def test_from_seeds_the_estimate_alone_decides() -> None:
    assert _said(0.92, 0.17, "seeds").name == LINKABLE


@pytest.mark.parametrize(
    ("given", "recovered", "outliers", "said"),
    [(15, 0.4, 0, True), (15, 0.6, 0, False), (14, 0.4, 0, False), (15, None, 0, False), (15, 0.4, 3, False)],
)
def test_more_pairs_hardly_help_where_most_of_enough_do_not_come_back(
    given: int, recovered: float | None, outliers: int, said: bool
) -> None:
    assert (Reason("more_pairs_hardly_help") in SeedCheck(given, recovered, np.ones(outliers)).why()) == said


def test_seeds_that_look_wrong_are_counted_with_how_sure_that_is() -> None:
    assert SeedCheck(15, None, np.array([0.8, 0.9])).why() == [Reason("seeds_look_wrong", wrong=2, given=15, sure=0.85)]
