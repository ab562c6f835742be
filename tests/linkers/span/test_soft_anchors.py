"""Growing softly: where a pool of single links cannot, and only on what is there."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from small_papers import small_papers
from veclink import link, sample
from veclink.backends.cloud_pair import CloudPair
from veclink.data.pairs import resolve_pairs
from veclink.geometry.clouds import prepare
from veclink.linkers.anchors import anchors_from_rows
from veclink.linkers.options import SpanOptions
from veclink.linkers.span import attempts
from veclink.linkers.span.attempt import Search
from veclink.linkers.span.soft_anchors import SoftSchedule, grow_softly
from veclink.stores.opening import open_collection

QUICK = SoftSchedule(rounds=12)


class Enough(Exception):
    """No further start is asked for."""


def _enough(*_: Any) -> None:
    raise Enough


def _few_among_many(n_few: int, n_seeds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows of A that are all in B, all of B, seeds, and the row of B that each row of A is."""
    left, right = open_collection(sample.A), open_collection(sample.B)
    truth = resolve_pairs(sample.TRUTH, left, right, what="truth")
    chosen = np.random.default_rng(3).permutation(truth)[:n_few]
    a = np.asarray(left.vectors[chosen[:, 0]], np.float32)
    b = np.asarray(right.vectors, np.float32)
    seeds = np.column_stack([np.arange(n_seeds), chosen[:n_seeds, 1]])
    return a, b, seeds, chosen[:, 1]


def _centred(vectors: np.ndarray) -> np.ndarray:
    return prepare(open_collection(vectors)).dense()


def test_a_few_rows_among_many_find_their_partners_from_a_few_seeds() -> None:
    a, b, seeds, partner = _few_among_many(120, 8)
    pairs, score = grow_softly(_centred(a), _centred(b), seeds, np.random.default_rng(0), QUICK)
    right = partner[pairs[:, 0]] == pairs[:, 1]
    assert right.sum() > 90
    assert np.all(np.diff(score) <= 0)
    assert right[: len(right) // 2].mean() > right[len(right) // 2 :].mean()


@pytest.mark.parametrize(("held", "tried"), [(30_000, True), (1_000, False)])
def test_a_large_second_collection_is_never_held_whole(held: int, tried: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, seeds, _ = _few_among_many(60, 6)
    assert len(b) > 1_000
    monkeypatch.setattr(attempts, "HELD_ROWS", held)
    monkeypatch.setattr(attempts, "_aligned_anchors", _enough)
    clouds = CloudPair(_centred(a), _centred(b))
    search = Search(clouds, np.random.default_rng(0), SpanOptions(), None)
    names = []
    with suppress(Enough):
        for attempt in attempts.attempts(search, anchors_from_rows(clouds, seeds)):
            names.append(attempt.name)
    assert ("seeds, softly" in names) == tried


def test_seeds_that_are_all_that_is_shared_do_not_look_wrong() -> None:
    a, b, truth = small_papers()
    links = link(a, b, seeds=truth, device="cpu")
    assert not any("look wrong" in reason for reason in links.summary.reasons)
