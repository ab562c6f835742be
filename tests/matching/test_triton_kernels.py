"""The Triton kernel, run by Triton's interpreter: its lists, and the rankings that come from them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from directions import unit_rows
from veclink.matching import rankings, torch_backend, triton_kernels
from veclink.matching.rankings import Ranks, brute_force
from veclink.matching.torch_backend import DeviceRows

SMALL = triton_kernels.Tuning(rows=64, columns=32, step=16, warps=4, stages=1, tiles=2)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Tiles and a sample that suit small clouds, and kernels on the CPU."""
    monkeypatch.setattr(torch_backend, "WITH_TRITON", ("cpu",))
    monkeypatch.setattr(triton_kernels, "SAMPLE", 256)
    tune(monkeypatch, SMALL)


def tune(monkeypatch, tuning):
    monkeypatch.setattr(triton_kernels, "tuning_for", lambda device: tuning)


def agrees(left, right, *, k=10, depth=1):
    found = torch_backend.match(left, right, Ranks(k, depth))
    expected = brute_force(left, right, Ranks(k, depth))
    for mine, theirs in ((found.forward, expected.forward), (found.backward, expected.backward)):
        np.testing.assert_array_equal(mine.index, theirs.index)
        np.testing.assert_allclose(mine.score, theirs.score, rtol=0, atol=2e-6)


@pytest.mark.parametrize("n1, n2, dimension", [(1, 1, 2), (65, 63, 15), (130, 97, 40), (64, 200, 100)])
@pytest.mark.parametrize("k, depth", [(1, 1), (10, 2)])
def test_odd_sizes_rank_as_the_reference(n1, n2, dimension, k, depth):
    agrees(unit_rows(n1, dimension, seed=1), unit_rows(n2, dimension, seed=2), k=k, depth=depth)


@pytest.mark.parametrize("slab", [256, 1 << 18])
def test_every_row_above_its_floor_is_listed_or_beaten(monkeypatch, slab):
    left, right = (torch.from_numpy(unit_rows(n, 16, seed=n)).half() for n in (510, 600))
    tuning = triton_kernels.Tuning(rows=256, columns=16, step=16, warps=4, stages=1, tiles=4)
    tune(monkeypatch, tuning)
    monkeypatch.setattr(triton_kernels, "SLAB", slab)
    lists = triton_kernels.nearest(left, right, 8)
    cosine = left.float() @ right.float().T
    for near, whole in zip(lists, (cosine, cosine.T), strict=True):
        assert torch.isfinite(near.floor).all()
        listed = torch.zeros(whole.shape, dtype=torch.bool)
        row, place = (near.index >= 0).nonzero(as_tuple=True)
        listed[row, near.index[row, place].long()] = True
        assert len(row) == listed.sum()
        assert (whole[~listed] <= near.floor[:, None].expand_as(whole)[~listed] + 1e-6).all()
        torch.testing.assert_close(near.cosine[row, place], whole[row, near.index[row, place].long()])


def test_floors_from_a_sample_rank_as_the_reference(monkeypatch):
    tuning = triton_kernels.Tuning(rows=256, columns=16, step=16, warps=4, stages=1, tiles=8)
    tune(monkeypatch, tuning)
    agrees(unit_rows(510, 12, seed=3), unit_rows(600, 12, seed=4), k=1)


def test_duplicates_and_ties_rank_as_the_reference():
    draw = np.random.default_rng(7)
    distinct = unit_rows(12, 8, seed=8)
    agrees(distinct[draw.integers(0, 12, 150)], distinct[draw.integers(0, 12, 140)], k=10, depth=2)


def test_more_survivors_than_there_is_room_for_at_first_are_kept_in_a_second_run(monkeypatch):
    left = torch.from_numpy(unit_rows(16, 16, seed=9)).half()
    right = torch.from_numpy(unit_rows(600, 16, seed=10)).half()
    tuning = triton_kernels.Tuning(rows=16, columns=64, step=16, warps=4, stages=1, tiles=2)
    tune(monkeypatch, tuning)
    near, _ = triton_kernels.nearest(left, right, 600)
    assert (near.index.sort(dim=1).values == torch.arange(600)).all()


@pytest.mark.parametrize("n1, n2, dimension, width", [(1, 1, 2, 1), (65, 63, 15, 18), (40, 90, 300, 7)])
def test_inner_products_where_the_rows_lie_are_those_of_gathered_rows(n1, n2, dimension, width):
    rows, others = (torch.from_numpy(unit_rows(n, dimension, seed=n)) for n in (n1, n2))
    index = torch.from_numpy(np.random.default_rng(0).integers(-1, n2, (n1, width)).astype(np.int32))
    left, right = (DeviceRows(side, torch.device("cpu")) for side in (rows, others))
    expected = rankings.inner_products(left, right, index, memory=1 << 20)
    found = triton_kernels.inner_products(rows, others, index)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("q, n, k", [(333, 700, 10), (3, 40, 10), (130, 64, 1)])
def test_the_quick_search_finds_what_it_finds_in_torch(q, n, k):
    queries, others = (torch.from_numpy(unit_rows(rows, 24, seed=rows)).half().float() for rows in (q, n))
    best, index, nearest = triton_kernels.searched(queries, others, k)
    expected = rankings.searched(queries, DeviceRows(others, torch.device("cpu")), k, 512)
    assert (index == expected[1]).mean() > 0.99  # sums of another order
    np.testing.assert_allclose(best, expected[0], atol=1e-5)
    np.testing.assert_allclose(nearest[:, -1], (queries @ others.T).amax(dim=1), atol=1e-5)
    assert (nearest[:, 1:] >= nearest[:, :-1]).all()
