"""Growing softly: where a pool of single links cannot, and only on what is there."""

from __future__ import annotations

import numpy as np

from small_papers import small_papers
from veclink import link, sample
from veclink.data.pairs import resolve_pairs
from veclink.geometry.clouds import prepare
from veclink.linkers.span.soft_anchors import SoftSchedule, grow_softly
from veclink.stores.opening import open_collection

QUICK = SoftSchedule(rounds=12)


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
    pairs = grow_softly(_centred(a), _centred(b), seeds, np.random.default_rng(0), QUICK)
    right = partner[pairs[:, 0]] == pairs[:, 1]
    assert right.sum() > 90
    assert right[: len(right) // 2].mean() > right[len(right) // 2 :].mean()


def test_seeds_that_are_all_that_is_shared_do_not_look_wrong() -> None:
    a, b, truth = small_papers()
    links = link(a, b, seeds=truth, device="cpu")
    assert not any(reason.code == "seeds_look_wrong" for reason in links.summary.why)
