"""One start after another: which are tried on large collections."""

from __future__ import annotations

import numpy as np
import pytest

from span_papers import all_papers, whole_cloud_pair
from veclink.backends import cloud_pair
from veclink.backends.cloud_pair import CloudPair
from veclink.linkers.anchors import anchors_from_rows
from veclink.linkers.options import SpanOptions
from veclink.linkers.span import attempts
from veclink.linkers.span.attempt import Attempt, Search
from veclink.linkers.span.growing import widen

N_SEEDS = 30


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> CloudPair:
    """The sample as if it were large, with so few rows asked that no pool grows."""
    monkeypatch.setattr(cloud_pair, "ALL_ASKED", 1_000)
    monkeypatch.setattr(cloud_pair, "ASKED", 60)
    monkeypatch.setattr(attempts, "ALIGNMENT_POWERS", ())
    whole = whole_cloud_pair()
    return CloudPair(whole.all_rows("a"), whole.all_rows("b"))


def _first_two(clouds: CloudPair) -> list[Attempt]:
    """The start from the given pairs, and the next one if there is any before alignments."""
    search = Search(clouds, np.random.default_rng(0), SpanOptions(), None)
    seeds = anchors_from_rows(clouds, all_papers().truth[:N_SEEDS])
    tried = attempts.attempts(search, seeds)
    try:
        return [next(tried), next(tried)]
    except ValueError:  # no powers to align by
        return []


def test_all_rows_of_a_large_collection_are_asked_where_some_of_them_do_not_grow(large: CloudPair) -> None:
    some, every = _first_two(large)
    assert (some.name, every.name) == ("seeds", "seeds, all rows asked")
    assert some.pool.extent == 60 and len(some.pool.pairs) < 60
    assert every.pool.extent == large.extent_of_all
    assert every.pool.agreed > 0.3 * every.pool.extent
    assert large.large, "the clouds of the later stages stay what they are"
    kept = widen(large, every.pool, np.random.default_rng(0))
    assert kept is every.pool.pairs, "what all rows were asked for is not cut down to a sample"


def test_of_very_many_rows_some_are_asked_only(large: CloudPair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "ASKED_IN_FULL", 1_500)
    assert not _first_two(large)
