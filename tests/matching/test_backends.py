"""Every backend gives the reference's rankings, whatever the sizes, the values and the memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from directions import unit_rows


@pytest.mark.parametrize("n1, n2", [(1, 1), (1, 9), (3, 2), (17, 64), (65, 63), (257, 1031), (1025, 90), (1300, 2111)])
def test_odd_sizes_rank_as_the_reference(agrees, n1, n2):
    agrees(unit_rows(n1, 24, seed=1), unit_rows(n2, 24, seed=2), k=10, depth=2)


@pytest.mark.parametrize("dimension", [2, 3, 15, 100, 384, 1025, 4096])
def test_any_dimension_ranks_as_the_reference(agrees, dimension):
    n = 600 if dimension < 1000 else 150
    agrees(unit_rows(n, dimension, seed=3), unit_rows(n + 7, dimension, seed=4), k=10)


@pytest.mark.parametrize("k", [1, 2, 10, 16, 50, 100])
@pytest.mark.parametrize("depth", [1, 4])
def test_any_k_and_depth_rank_as_the_reference(agrees, k, depth):
    agrees(unit_rows(700, 16, seed=5), unit_rows(650, 16, seed=6), k=k, depth=depth)


def test_k_and_depth_beyond_the_other_side_use_all_of_it(agrees):
    found = agrees(unit_rows(30, 8, seed=7), unit_rows(4, 8, seed=8), k=100, depth=6)
    assert (found.forward.index[:, 4:] == -1).all()
    assert np.isneginf(found.forward.score[:, 4:]).all()
    assert (found.backward.index >= 0).all()


def test_duplicated_rows_tie_and_the_lowest_row_wins(agrees):
    distinct = unit_rows(40, 12, seed=9)
    draw = np.random.default_rng(10)
    left, right = distinct[draw.integers(0, 40, 900)], distinct[draw.integers(0, 40, 1100)]
    found = agrees(left, right, k=10, depth=3)
    lowest = {row.tobytes(): i for i, row in reversed(list(enumerate(right)))}
    assert [lowest[row.tobytes()] for row in left if row.tobytes() in lowest] == [
        best for row, best in zip(left, found.forward.index[:, 0], strict=True) if row.tobytes() in lowest
    ]


def test_all_rows_equal_rank_in_row_order(agrees):
    found = agrees(np.full((130, 4), 0.5, np.float32), np.full((140, 4), 0.5, np.float32), k=10, depth=3)
    assert (found.forward.index == [0, 1, 2]).all()


def test_clouds_of_nearly_equal_rows_rank_as_the_reference(agrees):
    """Kernel hashes look like this: all cosines within a few thousandths of one."""
    centre = unit_rows(1, 60, seed=11)
    left, right = (centre + 0.02 * unit_rows(n, 60, seed=n) for n in (800, 700))
    left, right = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (left, right))
    agrees(left.astype(np.float32), right.astype(np.float32), k=50, depth=2)


def test_rows_sorted_by_similarity_rank_as_the_reference(agrees):
    """Each row then beats all before it, so that every entry passes the floor."""
    angle = np.linspace(0, 3, 1500)
    circle = np.column_stack([np.cos(angle), np.sin(angle)]).astype(np.float32)
    agrees(circle[:400], circle[::-1].copy(), k=10, depth=2)


def test_a_partner_that_is_far_but_lonely_is_found(agrees):
    """Low density lifts rows above nearer ones, beyond what the lists of nearest rows hold."""
    draw = np.random.default_rng(12)
    crowd = unit_rows(1, 16, seed=13) + 0.1 * draw.standard_normal((400, 16))
    lonely = unit_rows(300, 16, seed=14)
    left, right = np.vstack([crowd, lonely[:150]]), np.vstack([crowd[::-1] + 0.05, lonely])
    left, right = ((side / np.linalg.norm(side, axis=1, keepdims=True)).astype(np.float32) for side in (left, right))
    agrees(left, right, k=1, depth=5)


def test_float16_rows_rank_as_the_same_values_in_float32(agrees):
    left, right = unit_rows(500, 32, seed=15).astype(np.float16), unit_rows(450, 32, seed=16).astype(np.float16)
    agrees(left, right, k=10, memory=10_000)
    agrees(left, right, k=10)


@pytest.mark.parametrize("memory", [3_000, 60_000, 1_000_000])
def test_little_memory_changes_nothing(agrees, memory):
    agrees(unit_rows(300, 20, seed=17), unit_rows(351, 20, seed=18), k=10, depth=2, memory=memory)


class Streamed:
    """Rows that are read when asked, as a cloud larger than memory gives them."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows
        self.shape = rows.shape
        self.largest = 0

    def block(self, start: int, stop: int) -> np.ndarray:
        self.largest = max(self.largest, stop - start)
        return self.rows[start:stop].astype(np.float32)

    def take(self, rows: np.ndarray) -> np.ndarray:
        return self.rows[rows].astype(np.float32)


def test_streamed_rows_match_as_arrays_and_are_never_read_whole(match, agrees):
    left, right = unit_rows(900, 40, seed=19), unit_rows(800, 40, seed=20)
    expected = agrees(left, right, k=10, depth=2)
    sources = Streamed(left), Streamed(right)
    found = match(*sources, k=10, depth=2, memory=100_000)
    np.testing.assert_array_equal(found.forward.index, expected.forward.index)
    np.testing.assert_array_equal(found.backward.index, expected.backward.index)
    np.testing.assert_allclose(found.forward.score, expected.forward.score, atol=2e-6)
    assert max(source.largest for source in sources) * 40 * 4 <= 100_000


def test_memory_mapped_rows_match_as_arrays(match, agrees, tmp_path):
    left, right = unit_rows(200, 16, seed=21), unit_rows(210, 16, seed=22)
    np.save(tmp_path / "left.npy", left.astype(np.float16))
    mapped = np.load(tmp_path / "left.npy", mmap_mode="r")
    expected = agrees(left.astype(np.float16), right, k=10)
    np.testing.assert_array_equal(match(mapped, right, k=10).forward.index, expected.forward.index)


def test_read_only_and_strided_rows_match(agrees):
    left, right = unit_rows(100, 30, seed=23), unit_rows(200, 30, seed=24)
    left.flags.writeable = False
    agrees(left, right[::2], k=5)
    agrees(np.asfortranarray(left), right, k=5)


def test_permuted_rows_give_permuted_rankings(match):
    left, right = unit_rows(400, 24, seed=25), unit_rows(300, 24, seed=26)
    draw = np.random.default_rng(27)
    p, q = draw.permutation(400), draw.permutation(300)
    plain, permuted = match(left, right, k=10), match(left[p], right[q], k=10)
    np.testing.assert_array_equal(q[permuted.forward.index[:, 0]], plain.forward.index[p, 0])
    np.testing.assert_array_equal(p[permuted.backward.index[:, 0]], plain.backward.index[q, 0])


def test_swapped_sides_swap_the_rankings(match):
    left, right = unit_rows(400, 24, seed=28), unit_rows(300, 24, seed=29)
    there, back = match(left, right, k=10, depth=2), match(right, left, k=10, depth=2)
    np.testing.assert_array_equal(there.forward.index, back.backward.index)
    np.testing.assert_array_equal(there.backward.index, back.forward.index)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    n1=st.integers(1, 90),
    n2=st.integers(1, 90),
    dimension=st.integers(2, 6),
    levels=st.integers(1, 3),
    k=st.integers(1, 12),
    depth=st.integers(1, 4),
    seed=st.integers(0, 2**32 - 1),
)
def test_coarse_grids_full_of_ties_rank_as_the_reference(agrees, n1, n2, dimension, levels, k, depth, seed):
    draw = np.random.default_rng(seed)
    sides = [draw.integers(-levels, levels + 1, (n, dimension)).astype(np.float64) for n in (n1, n2)]
    left, right = (side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1) for side in sides)
    agrees(left.astype(np.float32), right.astype(np.float32), k=k, depth=depth, memory=20_000)
