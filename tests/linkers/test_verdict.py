"""The verdict on links from nothing: what the views agree on has to be borne out by what seems to be shared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from veclink.cli.app import app
from veclink.data.links import Links
from veclink.data.no_links import FROM_NOTHING, NEXT, ROWS_TO_JUDGE, STILL_POSSIBLE
from veclink.data.summary import Summary
from veclink.linkers import verdict
from veclink.linkers.anchors import Anchors
from veclink.linkers.span.constants import MIN_POOL
from veclink.linkers.span.growing import Pool
from veclink.linkers.span.starts import Bootstrap
from veclink.linkers.verdict import (
    DOUBTFUL,
    LINKABLE,
    NOT_BORNE_OUT,
    NOT_LINKABLE,
    SeedCheck,
    Verdict,
    not_converged,
    span_verdict,
)
from veclink.report.words import advice_without_links, headline, shown_reasons

ROWS = 1000
NO_SEEDS = SeedCheck(0, None, 0)

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
# Each of the constants that decide it, a little and far off.
MUTANTS = (
    ("MIN_BORNE_OUT", 0.0),
    ("MIN_BORNE_OUT", 0.25),
    ("MIN_BORNE_OUT", 0.35),
    ("MIN_BORNE_OUT", 3.0),
    ("MIN_OVERLAP_FRACTION", 0.0),
    ("MIN_OVERLAP_FRACTION", 0.07),
    ("MIN_OVERLAP_FRACTION", 0.1),
    ("MIN_OVERLAP_FRACTION", 0.85),
    ("CLEAR_OVERLAP_FACTOR", 1.0),
    ("CLEAR_OVERLAP_FACTOR", 15.0),
)


def _said(share: float, shared: float, start: str = FROM_NOTHING, seeds: SeedCheck = NO_SEEDS) -> Verdict:
    pool = Pool(np.empty((0, 2), np.int64), np.empty(0), np.empty(0), extent=ROWS)
    bootstrap = Bootstrap(pool, start, share, np.empty(0, np.int64))
    return span_verdict(bootstrap, shared * ROWS, smaller=ROWS, dimension=384, seeds=seeds)


def _names() -> list[str]:
    return [_said(share, shared).name for share, shared, _ in CASES]


def test_from_nothing_what_the_views_agree_on_has_to_be_borne_out() -> None:
    assert _names() == [name for _, _, name in CASES]


@pytest.mark.parametrize(("constant", "value"), MUTANTS)
def test_no_constant_that_accepts_a_start_can_be_changed_unnoticed(
    constant: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdict, constant, value)
    assert _names() != [name for _, _, name in CASES]


def test_what_is_not_borne_out_is_said_with_what_to_do() -> None:
    assert _said(0.92, 0.17).reasons[-1] == NOT_BORNE_OUT
    assert NOT_BORNE_OUT not in _said(0.40, 0.26).reasons
    assert NOT_BORNE_OUT not in _said(0.92, 0.08).reasons


def test_from_seeds_the_estimate_alone_decides() -> None:
    assert _said(0.92, 0.17, "seeds").name == LINKABLE


def test_where_nothing_is_certain_no_number_of_shared_objects_is_told_and_what_to_do_is() -> None:
    said = _said(0.92, 0.04)
    assert not any("seem to be in both" in each for each in said.reasons)
    assert "as many likely pairs as there are here (40, 4% of the smaller collection)" in said.reasons[1]
    assert said.reasons[2] == STILL_POSSIBLE and said.reasons[3].startswith(NEXT)
    assert STILL_POSSIBLE not in _said(0.92, 0.04, "seeds").reasons, "more of what it grew from changes nothing"


@pytest.mark.parametrize(
    ("given", "more"), [(8, "check what was given"), (20, "give more pairs"), (0, "8 to 15 known pairs")]
)
def test_where_nothing_is_certain_what_was_given_decides_what_is_asked_for(given: int, more: str) -> None:
    said = _said(0.92, 0.04, seeds=SeedCheck(given, 0.0 if given else None, 0))
    assert more in said.reasons[-1]
    summary = Summary("span", ROWS, ROWS, 0, verdict=said.name, reasons=said.reasons)
    links = Links(np.empty((0, 2), np.int64), np.empty(0), summary, trace={"starts": [(FROM_NOTHING, 0.92)]})
    assert sum(more.lower() in each.lower() for each in advice_without_links(links)) == 1
    assert not any(each.startswith(NEXT) for each in shown_reasons(links)), "the advice says it"


def test_messages_name_the_rows_that_links_are_judged_from() -> None:
    assert ROWS_TO_JUDGE == MIN_POOL


def _nothing_from(given: int, rows: int = ROWS, wrong: int = 0, **kind: bool) -> Links:
    """The empty links of a run from so many pairs of which no start converged."""
    pool = Pool(np.empty((0, 2), np.int64), np.empty(0), np.empty(0), extent=rows)
    bootstrap = Bootstrap(pool, "seeds", 0.0, np.arange(wrong), tried=(("seeds", 0.0), (FROM_NOTHING, 0.0)))
    anchors = Anchors(np.ones((given, 3)), np.ones((given, 3)), np.ones((given, 2), np.int64), **kind)
    reasons = not_converged(bootstrap, anchors).reasons
    summary = Summary("span", rows, ROWS, 0, verdict=NOT_LINKABLE, reasons=reasons)
    return Links(np.empty((0, 2), np.int64), np.empty(0), summary)


@pytest.mark.parametrize(
    ("given", "wrong", "by_column", "blamed", "more"),
    [
        (8, 0, False, True, True),
        (15, 0, False, False, True),
        (15, 4, False, True, True),
        (60, 0, False, False, False),
        (100, 0, True, False, False),
        (20, 0, True, False, True),
    ],
)
def test_given_pairs_are_blamed_and_more_asked_for_only_where_that_can_help(
    given: int, wrong: int, by_column: bool, blamed: bool, more: bool
) -> None:
    links = _nothing_from(given, wrong=wrong, by_column=by_column)
    said = " ".join(links.summary.reasons)
    assert ("given pairs are wrong" in said) is blamed and ("more" in links.summary.reasons[-1]) is more
    assert "--anchors" in " ".join(advice_without_links(links))
    if by_column:
        assert "--seeds-by" not in " ".join([said, *advice_without_links(links)])


@pytest.mark.parametrize(
    ("starts", "asked"),
    [
        ([("seeds", 0.92)], False),
        ([(FROM_NOTHING, 0.92)], True),
        ([("seeds", 0.0), (FROM_NOTHING, 0.92)], True),
        ([("seeds", 0.0), ("seeds, aligned", 0.92)], False),
    ],
)
def test_where_linking_grew_from_given_pairs_and_nothing_is_certain_no_more_of_them_are_asked_for(
    starts: list[tuple[str, float]], asked: bool
) -> None:
    said = _said(0.92, 0.01, starts[-1][0])
    summary = Summary("span", ROWS, ROWS, 0, verdict=said.name, reasons=said.reasons)
    links = Links(np.empty((0, 2), np.int64), np.empty(0), summary, trace={"starts": starts})
    assert said.name == NOT_LINKABLE
    assert any("known pairs" in each for each in advice_without_links(links)) is asked


def test_few_rows_come_first_where_they_are_the_plainest_cause(tmp_path: Path) -> None:
    links = _nothing_from(100, rows=100, by_column=True)
    links.save(tmp_path / "links.csv")
    told = CliRunner().invoke(app, ["review", str(tmp_path / "links.csv"), "a.npy", "b.npy"]).output
    assert "has 100 rows only" in told.split("It may also be")[0]
    assert "has 100 rows only" in links.summary.reasons[0] and "plainest" not in links.summary.reasons[0]
    assert "has 100 rows only" in headline(links, None)[1]
    assert "rows only" not in " ".join(_nothing_from(100, rows=300).summary.reasons)


def test_anchors_that_look_wrong_are_not_counted_among_no_pairs() -> None:
    assert SeedCheck(0, None, 21).reasons() == ["21 given pairs look wrong and were not used."]
