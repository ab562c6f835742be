"""The protocol: splits, seeds, scores, trials."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_papers import small_papers
from veclink.errors import InputError
from veclink_bench.splits import SEED_CHOICES, draw_seeds, split


@given(st.integers(4, 200), st.floats(0.15, 1.0), st.integers(0, 1000))
def test_split_shares_the_overlap_and_puts_every_other_object_on_one_side(n: int, overlap: float, seed: int) -> None:
    cut = split(n, overlap, np.random.default_rng(seed))
    assert len(cut.truth) == round(overlap * n)
    assert np.array_equal(cut.rows_a[cut.truth[:, 0]], cut.rows_b[cut.truth[:, 1]])
    both = set(cut.rows_a) & set(cut.rows_b)
    assert len(both) == len(cut.truth) and set(cut.rows_a) | set(cut.rows_b) == set(range(n))
    assert 0 <= len(cut.rows_b) - len(cut.rows_a) <= 1


def test_split_keeps_marked_objects_out_of_the_overlap_and_loses_none() -> None:
    marked = np.arange(100) % 2 == 0
    cut = split(100, 0.4, np.random.default_rng(3), unshared=marked)
    shared = cut.rows_a[cut.truth[:, 0]]
    assert len(shared) == 40 and not marked[shared].any()
    assert set(cut.rows_a) | set(cut.rows_b) == set(range(100)) and len(cut.rows_a) == len(cut.rows_b) == 70
    rest = np.setdiff1d(cut.rows_a, shared)
    assert 15 <= marked[rest].sum() <= 30, "those that are not shared are spread over both sides"
    with pytest.raises(InputError, match=r"60 objects.*50 of 100"):
        split(100, 0.6, np.random.default_rng(0), unshared=marked)


@pytest.mark.parametrize("how", SEED_CHOICES)
def test_seeds_are_distinct_true_pairs_and_repeat_with_the_state(how: str) -> None:
    vectors, _, truth = small_papers()
    drawn, again = (
        draw_seeds(truth, 15, np.random.default_rng(4), how=how, vectors=vectors[: len(truth)]) for _ in range(2)
    )
    assert len(np.unique(drawn[:, 0])) == 15 and np.array_equal(drawn, again)
    assert np.all(drawn[:, 0] == drawn[:, 1])
