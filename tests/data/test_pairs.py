"""Pairs of rows: named by ids or rows, looked up, one to one; known ones that contradict one another are left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veclink.data.collection import Collection
from veclink.data.pairs import one_to_one, read_pairs, resolve_pairs, resolve_seeds
from veclink.errors import InputError

VECTORS = np.eye(10)
PLAIN = Collection.from_array(VECTORS)
NAMED = Collection.from_array(VECTORS, ids=np.array([f"id{row}" for row in range(10)], object))
FIVE = Collection.from_array(VECTORS[:5])
NUMBERED = Collection.from_array(VECTORS[:5], ids=[10, 20, 30, 40, 50])
TEXTS = Collection.from_array(VECTORS[:5], ids=["10", "020", "ö,", "d\ne", "e"])


def test_a_row_with_two_partners_costs_only_its_own_pairs() -> None:
    known, torn = resolve_seeds([(5, 5), (0, 0), (0, 1), (2, 2), (3, 2), (4, 4)], PLAIN, PLAIN)
    assert known.tolist() == [[4, 4], [5, 5]]
    assert torn.tolist() == [[0, 0], [0, 1], [2, 2], [3, 2]]


def test_a_pair_given_twice_counts_once() -> None:
    known, torn = resolve_seeds([(5, 5), (0, 1), (5, 5)], PLAIN, PLAIN)
    assert known.tolist() == [[0, 1], [5, 5]] and not len(torn)


def test_of_a_repeated_pair_that_is_contradicted_neither_is_used() -> None:
    known, torn = resolve_seeds([("id1", 1), ("id1", 1), ("id1", 2), ("id3", 3)], NAMED, PLAIN)
    assert known.tolist() == [[3, 3]]
    assert torn.tolist() == [[1, 1], [1, 2]]


@pytest.mark.parametrize("pairs", [[(0, 0), (0, 1), (3, 3)], [(0, 0), (1, 1), (0, 0)]])
def test_whoever_is_strict_has_them_refused(pairs: list[tuple[int, int]]) -> None:
    with pytest.raises(InputError, match=r"contradict themselves|more than once"):
        resolve_seeds(pairs, PLAIN, PLAIN, strict=True)
    assert resolve_seeds([(0, 0), (3, 3)], PLAIN, PLAIN, strict=True)[0].tolist() == [[0, 0], [3, 3]]


def test_seeds_of_which_none_is_left_are_refused() -> None:
    with pytest.raises(InputError, match=r"All of the 2 seeds contradict one another: \('id0', 5\), \('id1', 5\);"):
        resolve_seeds([("id0", 5), ("id1", 5)], NAMED, PLAIN)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), unique=True, max_size=12), st.integers(0, 1000))
def test_one_to_one_gives_each_row_one_partner_and_leaves_no_free_pair(pairs: list[tuple[int, int]], seed: int) -> None:
    weight = np.random.default_rng(seed).integers(0, 4, len(pairs)).astype(float)
    chosen = one_to_one(np.array(pairs, np.int64).reshape(-1, 2), weight)
    kept = [pairs[i] for i in chosen]
    assert len({a for a, _ in kept}) == len({b for _, b in kept}) == len(kept)
    assert weight[chosen].tolist() == sorted(weight[chosen].tolist(), reverse=True)
    for i, (a, b) in enumerate(pairs):
        if i not in chosen:
            rivals = [weight[j] for j in chosen if pairs[j][0] == a or pairs[j][1] == b]
            assert rivals and max(rivals) >= weight[i]


def test_one_to_one_breaks_ties_by_the_second_weight_then_by_row() -> None:
    pairs = np.array([(0, 1), (0, 0), (1, 1), (2, 2), (2, 3)])
    chosen = one_to_one(pairs, np.ones(5), np.array([0.1, 0.2, 0.3, 0.5, 0.5]))
    assert [tuple(p) for p in pairs[chosen].tolist()] == [(2, 2), (1, 1), (0, 0)]


@pytest.mark.parametrize(
    ("pairs", "a", "b", "rows"),
    [
        ([(0, 1), (2, 3)], FIVE, FIVE, [[0, 1], [2, 3]]),
        (np.array([[0, 1], [2, 3]], np.int32), FIVE, FIVE, [[0, 1], [2, 3]]),
        ([("0", "1")], FIVE, FIVE, [[0, 1]]),
        (np.array([[4.0, 0.0]]), FIVE, FIVE, [[4, 0]]),
        ([(50, 0), (10, 1)], NUMBERED, FIVE, [[4, 0], [0, 1]]),
        ([("50", "e")], NUMBERED, TEXTS, [[4, 4]]),
        ([(10, 3), ("ö,", 4)], TEXTS, FIVE, [[0, 3], [2, 4]]),
        ([["020", "d\ne"]], TEXTS, TEXTS, [[1, 3]]),
        ((np.array(["10", "e"], object), np.array([1, 0])), TEXTS, FIVE, [[0, 1], [4, 0]]),
    ],
)
def test_values_are_ids_where_there_are_ids_and_else_rows(
    pairs: object, a: Collection, b: Collection, rows: list[list[int]]
) -> None:
    resolved = resolve_pairs(pairs, a, b)
    assert resolved.dtype == np.int64 and resolved.tolist() == rows


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_file_of_pairs_is_resolved_whatever_else_it_holds(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"seeds{ending}"
    if ending == ".csv":
        path.write_bytes('\ufeffscore,b,a\r\n1,"ö,",10\r\n2,e,50\r\n'.encode())
    else:
        pq.write_table(pa.table({"score": [1, 2], "b": ["ö,", "e"], "a": [10, 50]}), path)
    assert resolve_pairs(path, NUMBERED, TEXTS).tolist() == [[0, 2], [4, 4]]
    assert resolve_pairs(read_pairs(str(path)), NUMBERED, TEXTS).tolist() == [[0, 2], [4, 4]]


@given(order=st.permutations(range(5)), ids=st.lists(st.text(), min_size=5, max_size=5, unique=True))
def test_renaming_rows_does_not_change_what_pairs_mean(order: list[int], ids: list[str]) -> None:
    try:
        renamed = Collection.from_array(FIVE.vectors, ids=ids)
    except InputError:  # lone surrogates are no text
        assert any("\ud800" <= letter <= "\udfff" for letter in "".join(ids))
        return
    by_row = resolve_pairs(list(zip(order, range(5), strict=True)), FIVE, FIVE)
    by_id = resolve_pairs([(ids[row], place) for place, row in enumerate(order)], renamed, FIVE)
    assert np.array_equal(by_row, by_id)
