"""Which links come up, and what the answers come to: exact with all of them, honest in between."""

from __future__ import annotations

import numpy as np
import pytest

from reviewed_papers import Reviewed
from veclink.data.links import Links
from veclink.data.summary import Summary
from veclink.review.estimate import LABELS, BandCount, banded, estimate


def test_the_uncertain_come_first_then_the_sure_then_the_given_and_each_once(papers: Reviewed) -> None:
    probability, rows = np.array([1.0, 1.0, 0.98, 0.95, 0.8, 0.5, 0.2, 0.05]), np.arange(8)
    given = {"given": rows == 0}
    links = Links(np.column_stack([rows, rows]), probability, Summary("span", 8, 8, 8), given)
    of, queues = banded(links)
    in_turn = links.probability[queues["doubtful"]].tolist()
    assert in_turn[0] == 0.5 and set(in_turn[1:3]) == {0.8, 0.2} and set(in_turn[3:5]) == {0.95, 0.05}
    last = queues["doubtful"][-1]
    assert bool(links.evidence["given"][last]) and LABELS[of[last]] == "given"
    assert all(sorted(each.tolist()) == list(range(len(papers.links))) for each in banded(papers.links)[1].values())


def test_without_answers_it_is_what_the_probabilities_say() -> None:
    found = estimate([BandCount(40, 0.5, 0, 0), BandCount(60, 0.9, 0, 0)])
    assert found.precision == pytest.approx(0.4 * 0.5 + 0.6 * 0.9)
    assert found.low < 0.5 and found.high > 0.9
    assert estimate([]) is None and estimate([BandCount(0, 0.0, 0, 0)]) is None


def test_with_every_link_answered_it_is_the_share_of_right_ones() -> None:
    found = estimate([BandCount(10, 0.5, 3, 7), BandCount(30, 0.99, 30, 0)])
    assert found.precision == found.low == found.high == pytest.approx(33 / 40)


def test_answers_in_one_band_do_not_speak_for_another() -> None:
    sure = BandCount(900, 0.99, 0, 0)
    bad, good = estimate([BandCount(100, 0.5, 0, 50), sure]), estimate([BandCount(100, 0.5, 50, 0), sure])
    assert bad.precision == pytest.approx(0.891 + 0.1 * (0.5 / 52), abs=1e-6)
    assert good.precision - bad.precision == pytest.approx(0.1 * (0.5 + 0.5 * 50 / 52), abs=1e-3)
