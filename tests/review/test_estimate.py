"""The precision that answers come to: what the linker said without any, exact with all, honest in between."""

from __future__ import annotations

import numpy as np
import pytest

from reviewed_papers import Reviewed
from veclink.review.bands import banded
from veclink.review.estimate import BandCount, count_bands, estimate


def test_without_answers_it_is_what_the_probabilities_say() -> None:
    found = estimate([BandCount(40, 0.5, 0, 0), BandCount(60, 0.9, 0, 0)])
    assert found is not None
    assert found.precision == pytest.approx(0.4 * 0.5 + 0.6 * 0.9)
    assert found.low < 0.5 and found.high > 0.9 and found.answered == 0


def test_with_every_link_answered_it_is_the_share_of_right_ones() -> None:
    found = estimate([BandCount(10, 0.5, 3, 7), BandCount(30, 0.99, 30, 0)])
    assert found is not None
    assert found.precision == found.low == found.high == pytest.approx(33 / 40)
    assert found.answered == 40


def test_answers_against_the_linker_move_it_and_narrow_the_interval() -> None:
    before, after = estimate([BandCount(500, 0.95, 0, 0)]), estimate([BandCount(500, 0.95, 20, 20)])
    assert before is not None and after is not None
    assert after.precision == pytest.approx(0.52, abs=0.02)
    assert after.high - after.low < 0.32 and before.high < 1.0001


def test_answers_in_one_band_do_not_speak_for_another() -> None:
    sure = BandCount(900, 0.99, 0, 0)
    bad, good = estimate([BandCount(100, 0.5, 0, 50), sure]), estimate([BandCount(100, 0.5, 50, 0), sure])
    assert bad is not None and good is not None
    assert bad.precision == pytest.approx(0.891 + 0.1 * (0.5 / 52), abs=1e-6)
    assert good.precision - bad.precision == pytest.approx(0.1 * (0.5 + 0.5 * 50 / 52), abs=1e-3)


def test_without_links_there_is_nothing_to_say() -> None:
    assert estimate([]) is None and estimate([BandCount(0, 0.0, 0, 0)]) is None


@pytest.mark.parametrize("answers", [10, 40, 90])
def test_the_interval_holds_the_true_precision_of_real_links_whatever_the_order(papers: Reviewed, answers: int) -> None:
    """Reviewed to a point in 100 random orders, doubtful first, by someone who knows the truth."""
    links, right = papers.links, papers.right()
    inside = 0
    for state in range(100):
        bands = banded(links, random_state=state)
        seen = np.zeros(len(links), bool)
        seen[bands.queues["doubtful"][:answers]] = True
        counts = count_bands(bands.of, links.probability, seen & right, seen & ~right, len(bands.labels))
        found = estimate(counts)
        assert found is not None and found.answered == answers
        inside += found.low <= right.mean() <= found.high
    assert inside >= 90
